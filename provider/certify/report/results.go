package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"portico/provider/certify/contract"
)

// resultsFormat marks results.json and numbers its form. Added members keep
// the number; a renamed, removed or reinterpreted one raises it.
const resultsFormat = "portico-certify/1"

// resultsDocument is the form of results.json.
type resultsDocument struct {
	Format string `json:"format"`
	Run
	// Profiles is for programs that read the file; Read ignores it.
	Profiles []Verdict `json:"profiles"`
}

// WriteResults writes results.json.
func WriteResults(w io.Writer, r Run) error {
	document := resultsDocument{Format: resultsFormat, Run: r, Profiles: r.Verdicts()}
	document.Results = r.sorted()
	filled(&document.Results)
	filled(&document.Profiles)
	filled(&document.Claimed)
	filled(&document.Left)
	filled(&document.Target.Types)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(document)
}

// filled replaces a nil list, which JSON shows as null, by an empty one.
func filled[T any](list *[]T) {
	if *list == nil {
		*list = []T{}
	}
}

// Read reads a results.json. Its error names the file and the fault.
func Read(file string) (Run, error) {
	text, err := os.ReadFile(file) //nolint:gosec // the caller's own file
	if err != nil {
		return Run{}, err
	}
	run, err := parseResults(text)
	if err != nil {
		return Run{}, fmt.Errorf("%s%w", file, err)
	}
	return run, nil
}

// parseResults reads the text of results.json; its error begins with the line, or a colon.
func parseResults(text []byte) (Run, error) {
	var document resultsDocument
	if err := json.Unmarshal(text, &document); err != nil {
		var syntax *json.SyntaxError
		var kind *json.UnmarshalTypeError
		switch {
		case errors.As(err, &syntax):
			return Run{}, fmt.Errorf(":%d: not the results of a run: %w", lineAt(text, syntax.Offset), err)
		case errors.As(err, &kind):
			what := strings.TrimPrefix(kind.Field, "Run.")
			return Run{}, fmt.Errorf(":%d: not the results of a run: %s is a JSON %s", lineAt(text, kind.Offset), cmp.Or(what, "the whole"), kind.Value)
		}
		return Run{}, fmt.Errorf(": not the results of a run: %w", err)
	}
	if document.Format != resultsFormat {
		return Run{}, fmt.Errorf(`: not the results of a run: the member "format" is %q, but must be %q`, document.Format, resultsFormat)
	}
	known := []contract.Outcome{contract.Kept, contract.Broken, contract.Unreached, contract.LeftOut}
	for i, r := range document.Results {
		if r.Case == "" {
			return Run{}, fmt.Errorf(`: results[%d] has no "case"`, i)
		}
		if !slices.Contains(known, r.Outcome) {
			return Run{}, fmt.Errorf(`: results[%d], of the case %s: the outcome is %q, but must be one of %q`, i, r.Case, r.Outcome, known)
		}
	}
	return document.Run, nil
}

func lineAt(text []byte, offset int64) int {
	return 1 + bytes.Count(text[:min(int(offset), len(text))], []byte("\n"))
}
