package frontdoor

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"portico/arm"
	"portico/events"
)

// localizable is a text that ARM may translate; Portico does not.
type localizable struct {
	Value     string `json:"value"`
	Localized string `json:"localizedValue"`
}

func unlocalized(text string) *localizable { return &localizable{text, text} }

// eventBody is an event as the activity log shows it.
type eventBody struct {
	ID               string            `json:"id"`
	EventDataID      string            `json:"eventDataId"`
	Caller           string            `json:"caller,omitempty"`
	Claims           map[string]string `json:"claims,omitempty"`
	CorrelationID    string            `json:"correlationId,omitempty"`
	OperationID      string            `json:"operationId,omitempty"`
	Channels         string            `json:"channels"`
	Level            string            `json:"level"`
	Category         *localizable      `json:"category"`
	EventName        *localizable      `json:"eventName"`
	OperationName    *localizable      `json:"operationName"`
	Status           *localizable      `json:"status"`
	SubStatus        *localizable      `json:"subStatus"`
	ResourceGroup    string            `json:"resourceGroupName,omitempty"`
	ResourceProvider *localizable      `json:"resourceProviderName"`
	ResourceType     *localizable      `json:"resourceType"`
	ResourceID       string            `json:"resourceId"`
	Authorization    *authorization    `json:"authorization"`
	HTTPRequest      *httpRequest      `json:"httpRequest,omitempty"`
	Properties       map[string]string `json:"properties,omitempty"`
	EventTimestamp   string            `json:"eventTimestamp"`
	Submission       string            `json:"submissionTimestamp"`
	SubscriptionID   string            `json:"subscriptionId,omitempty"`
	TenantID         string            `json:"tenantId,omitempty"`
}

type authorization struct {
	Action string `json:"action"`
	Scope  string `json:"scope"`
}

type httpRequest struct {
	ClientRequestID string `json:"clientRequestId,omitempty"`
	ClientIPAddress string `json:"clientIpAddress,omitempty"`
	Method          string `json:"method,omitempty"`
	URI             string `json:"uri,omitempty"`
}

// Words of the log that are the same for all events.
const (
	administrative = "Administrative" // the category
	operationOnly  = "Operation"      // the channel
)

// dotNetEpoch is the beginning of 1970 in the ticks of an event's id: tenths of
// microseconds since the year 1.
const dotNetEpoch = 621_355_968_000_000_000

func levelOf(e events.Event) string {
	if e.Status == events.Failed {
		return "Error"
	}
	return "Informational"
}

func eventOf(e events.Event) eventBody {
	at, id := e.At.UTC().Format(time.RFC3339Nano), uuid.UUID(e.ID).String()
	body := eventBody{
		ID:          e.Resource + "/events/" + id + "/ticks/" + strconv.FormatInt(e.At.UnixMicro()*10+dotNetEpoch, 10),
		EventDataID: id, Caller: e.Cause.Caller(), Claims: claimsOf(e.Cause),
		CorrelationID: e.Cause.Correlation, OperationID: cmp.Or(e.Cause.Request, e.Cause.Correlation),
		Channels: operationOnly, Level: levelOf(e), Category: unlocalized(administrative),
		EventName: unlocalized("EndRequest"), OperationName: unlocalized(e.Action), Status: unlocalized(string(e.Status)), SubStatus: unlocalized(""),
		ResourceGroup: groupOf(e), ResourceProvider: unlocalized(namespaceOf(e.Action)), ResourceType: unlocalized(resourceTypeOf(e)),
		ResourceID: e.Resource, Authorization: &authorization{e.Action, e.Resource},
		EventTimestamp: at, Submission: at, SubscriptionID: subscriptionIDOf(e), TenantID: e.Cause.TenantID,
		Properties: propertiesOf(e),
	}
	if e.Status == events.Started {
		body.EventName = unlocalized("BeginRequest")
	}
	if e.HTTPStatus != 0 {
		body.SubStatus = &localizable{
			Value:     statusWord(e.HTTPStatus),
			Localized: http.StatusText(e.HTTPStatus) + " (HTTP Status Code: " + strconv.Itoa(e.HTTPStatus) + ")",
		}
	}
	if c := e.Cause; c.Method != "" {
		body.HTTPRequest = &httpRequest{c.ClientRequest, c.Address, c.Method, c.URI}
	}
	return body
}

// statusWord returns the name of a status in one word, as the log does: "Conflict".
func statusWord(status int) string {
	if text := http.StatusText(status); text != "" {
		return strings.NewReplacer(" ", "", "-", "", "'", "").Replace(text)
	}
	return strconv.Itoa(status)
}

// subscriptionIDOf returns the subscription of an event, "" for an event of a tenant.
func subscriptionIDOf(e events.Event) string {
	if arm.ValidGUID(e.Subscription) {
		return e.Subscription
	}
	return ""
}

// resourceTypeOf returns the type of an event's resource, from its ID or, if the ID has
// none, from the action.
func resourceTypeOf(e events.Event) string {
	if typ := arm.TypeIn(e.Resource); typ != "" {
		return typ
	}
	for _, verb := range [...]string{"/write", "/delete"} {
		if typ, ok := strings.CutSuffix(e.Action, verb); ok {
			return typ
		}
	}
	return ""
}

// propertiesOf returns the further properties of an event, by Azure's names if Azure has
// them too.
func propertiesOf(e events.Event) map[string]string {
	all := map[string]string{
		"origin": string(e.Origin), "entity": e.Resource, "message": e.Action, "eventCategory": administrative,
		"job": e.Cause.Job, "jobId": e.Cause.JobID, "jobOn": e.Cause.JobOn, "movedFrom": e.From, "movedTo": e.To,
	}
	if e.HTTPStatus != 0 {
		all["statusCode"] = statusWord(e.HTTPStatus)
	}
	if e.Error != nil {
		all["statusMessage"] = string(e.Error.Body())
	}
	if e.Unverified {
		all["inDoubt"] = "true"
	}
	if e.Omitted > 0 {
		all["refusalsNotRecorded"] = strconv.Itoa(e.Omitted)
	}
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" })
	return all
}

// claimsOf returns the claims that identify a caller, by the names that ARM shows.
func claimsOf(c events.Cause) map[string]string {
	claims := map[string]string{}
	for name, value := range map[string]string{
		"iss": c.Issuer, "appid": c.AppID, "name": c.Name,
		"http://schemas.microsoft.com/identity/claims/objectidentifier": c.ObjectID,
		"http://schemas.microsoft.com/identity/claims/tenantid":         c.TenantID,
	} {
		if value != "" {
			claims[name] = value
		}
	}
	return claims
}

// groupOf returns the name of the group that contains an event's resource, as the ID
// spells it.
func groupOf(e events.Event) string {
	segments := strings.Split(e.Resource, "/")
	if len(segments) > 4 && strings.EqualFold(segments[3], "resourceGroups") {
		return segments[4]
	}
	return ""
}

func namespaceOf(action string) string {
	namespace, _, _ := strings.Cut(action, "/")
	return namespace
}

// eventShape holds the members of an event that $select names; nil selects all.
type eventShape map[string]bool

func readEventShape(text string) (eventShape, *arm.Error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	shape, members := eventShape{}, eventMembers()
	for name := range strings.SplitSeq(text, ",") {
		name = strings.ToLower(strings.TrimSpace(name))
		if !slices.Contains(members, name) {
			return nil, arm.NewError(arm.InvalidQueryParameter, "$select", "it lists members of an event: "+strings.Join(members, ", ")).WithTarget("$select")
		}
		shape[name] = true
	}
	return shape, nil
}

// eventMembers returns the names of an event's members, in lower case: the members that
// events here have, and those that ARM has besides.
func eventMembers() []string {
	names := []string{"description"}
	for field := range reflect.TypeFor[eventBody]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, strings.ToLower(name))
	}
	slices.Sort(names)
	return names
}

func (s eventShape) apply(body eventBody) any {
	if s == nil {
		return body
	}
	text, err := json.Marshal(body)
	var members map[string]json.RawMessage
	if err != nil || json.Unmarshal(text, &members) != nil {
		return body
	}
	for name := range members {
		if !s[strings.ToLower(name)] {
			delete(members, name)
		}
	}
	return members
}
