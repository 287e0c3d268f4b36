package deploy

import (
	"encoding/json"
	"errors"
	"fmt"

	"portico/arm"
	"portico/inventory/deploymentrow"
	"portico/template"
)

// Bounds of the stored parts of one deployment, in bytes of JSON.
const (
	// RecordBytes bounds a deployment as clients see it, with its outputs and without its
	// error, as in ARM.
	RecordBytes = 4 << 20
	// NestedBytes bounds the stored parts of all deployments nested in one: their records, and
	// the answers that their steps depend on.
	NestedBytes = 16 << 20
	// failureBytes bounds the error of a deployment, with a detail for each of mostDetails
	// failures.
	failureBytes = 1 << 20
	mostDetails  = template.MaxResources
	// errorsBytes bounds the errors of all steps together. Each step has an equal share, but at
	// least leastError.
	errorsBytes = 4 << 20
	leastError  = 1 << 10
	// operationsBytes bounds the operations of a deployment that has ended.
	operationsBytes = 16 << 20
)

// fits reports whether the record of a deployment has room for n more bytes. Parts that do not
// fit need not be added, as the record is refused then.
func (p *Properties) fits(n int) bool {
	p.size += n
	return p.size <= RecordBytes
}

// Text returns the record as it is stored, or refuses a deployment that would have more than
// [RecordBytes].
func (s *Stored) Text() ([]byte, error) {
	if !s.Properties.fits(0) {
		return nil, s.tooLarge()
	}
	text, err := json.Marshal(s)
	if len(text) > RecordBytes {
		return nil, s.tooLarge()
	}
	return text, err
}

func (s *Stored) tooLarge() *arm.Error {
	return tooLarge(s.Name, "its parameters, dependencies, outputs and resources", RecordBytes)
}

func tooLarge(name, what string, bound int) *arm.Error {
	return arm.NewError(arm.DeploymentSizeExceeded, name, fmt.Sprintf("%s have more than %d MiB", what, bound>>20))
}

// end returns the stored end of a deployment. A deployment that is too large with its outputs and
// resources fails, and is shown without them.
func (s *Stored) end(state deploymentrow.State, fault *arm.Error, operations []Operation) (e deploymentrow.Ended, err error) {
	p := &s.Properties
	p.Error, s.First = nil, nil
	_, err = s.Text()
	if refusal, refused := errors.AsType[*arm.Error](err); refused {
		p.Outputs, p.OutputResources = nil, []Reference{}
		if state == deploymentrow.Succeeded {
			state, fault = deploymentrow.Failed, refusal
		}
	} else if err != nil {
		return e, err
	}
	p.Error, p.ProvisioningState = fault.Within(failureBytes), state.String()
	e.State, e.Error = state, p.Error
	if e.Record, err = json.Marshal(s); err == nil {
		e.Operations, err = operationsText(operations)
	}
	return e, err
}

// textOfNested returns the record of a nested deployment that begins, if there is room for it.
func (a *attempt) textOfNested(s *settled) ([]byte, error) {
	record := a.nestedRecord(&s.task)
	text, err := record.Text()
	if err != nil {
		return nil, err
	}
	n := len(text)
	if s.record.Unfolded != nil {
		for _, answer := range s.record.Unfolded.Answers {
			n += len(answer)
		}
	}
	return text, a.reserveSpace(s, n)
}

// reserveSpace reserves n bytes of NestedBytes for a nested deployment. Its error is an ARM error
// if there is no room.
func (a *attempt) reserveSpace(s *settled, n int) error {
	if a.space.Add(-int64(n)) < 0 {
		a.space.Add(int64(n))
		return tooLarge(a.order.Name, "the deployments nested in it", NestedBytes)
	}
	s.record.Kept += n
	return nil
}

// errorBytes bounds the error of one step, or deletion.
func (a *attempt) errorBytes() int {
	return min(arm.ErrorBytes, max(leastError, errorsBytes/max(1, len(a.steps)+len(a.removals))))
}

// operationsText returns the operations as they are stored, as many as fit.
func operationsText(all []Operation) ([]byte, error) {
	text := []byte{'['}
	for i := range all {
		one, err := json.Marshal(all[i])
		if err != nil {
			return nil, err
		}
		if len(text)+len(one) >= operationsBytes {
			break
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, one...)
	}
	return append(text, ']'), nil
}
