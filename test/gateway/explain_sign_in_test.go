package gateway_test

import (
	"encoding/json"
	"strings"
	"testing"

	"portico/access"
	adminapi "portico/gateway/admin/api"
)

// An explanation says whom a token signs in, or refuses it as the request would be. The
// token is in no answer and no log, and nothing is counted.
func TestExplainSignIn(t *testing.T) {
	s := newSite(t, setup{tokens: true, roles: "owners: [{principalId: " + callers[secret].ObjectID + "}]"})
	ann, unknown := "a-secret-of-ann", "a-secret-of-nobody"
	s.ok(201, "PUT", groupPath("g")+own, westus, "Authorization", bearer(secret))
	path := groupPath("g") + own

	refused := s.do("GET", path, "", "Authorization", bearer(unknown))
	e := s.says(adminapi.Question{Path: path, Token: unknown}, adminapi.Refused, "signIn", "", "401 InvalidAuthenticationToken")
	if e.SignIn == nil || e.SignIn.Result != access.Unknown || e.SignIn.Challenge != refused.header.Get("WWW-Authenticate") || e.SignIn.Challenge == "" ||
		!strings.Contains(e.Verdict.Summary, "auth.tokens") || e.Verdict.Status != refused.status {
		t.Errorf("%+v, %+v", e.Verdict, e.SignIn)
	}
	e = s.says(adminapi.Question{Method: "GET", Path: "/metadata/endpoints?api-version=2022-09-01", Token: unknown}, adminapi.Answered, "", "", "200")
	if e.SignIn == nil || e.SignIn.Result != access.Unknown {
		t.Errorf("%+v", e.SignIn)
	}
	s.says(adminapi.Question{Path: path}, adminapi.Answered, "", "", "200")

	for question, says := range map[string]string{
		`{"path":"/subscriptions","token":"` + ann + `","principal":"` + callers[second].ObjectID + `"}`: "principal, groups and tenant cannot",
		`{"path":"/subscriptions","token":"` + ann + `","tenant":"` + tenant + `"}`:                      "principal, groups and tenant cannot",
		`{"path":"/subscriptions","token":"` + ann + ` ` + unknown + `"}`:                                "one word",
		`{"path":"/subscriptions","token":"` + ann + `\r\nX: y"}`:                                        "one word",
		`{"path":"/subscriptions","token":{"` + ann + `":1}}`:                                            "",
		`{"token":"` + ann + `"}`: "path is missing",
		`{"token":"` + ann + `","raw":"R0VUIC8gSFRUUC8xLjENCg==","path":"/"}`: "they cannot be given separately",
		`{"raw":"R0VUIC8gSFRUUC8xLjENCg==","groups":["` + tenant + `"]}`:      "only with a principal",
		`{"raw":"` + ann + `"}`: "",
	} {
		got := s.request(400, "InvalidRequestContent", "POST", "/admin/explain", question)
		if !strings.Contains(got.text, says) || strings.Contains(got.text, ann) || strings.Contains(got.text, unknown) {
			t.Errorf("%s: %s", question, got.text)
		}
	}
	text, err := json.Marshal(e)
	must(t, err)
	if log := s.log.String(); strings.Contains(string(text)+log, ann) || strings.Contains(string(text)+log, unknown) {
		t.Error("a token is shown")
	}
}

// A token that signs in has the roles of its caller.
func TestExplainAsSignedIn(t *testing.T) {
	s := newSite(t, setup{tokens: true, claimed: true, roles: "owners: [{principalId: " + callers[secret].ObjectID + "}]"})
	ann, bob := callers[secret].ObjectID, callers[second].ObjectID
	s.ok(201, "PUT", groupPath("g")+own, westus, "Authorization", bearer(ann))
	e := s.says(adminapi.Question{Path: groupPath("g") + own, Token: ann}, adminapi.Answered, "", "", "200")
	if e.Caller.ObjectID != ann || e.Caller.TenantID != tenant || e.Caller.Roles != adminapi.RolesEnforced || e.SignIn.Result != access.Accepted {
		t.Errorf("%+v, %+v", e.Caller, e.SignIn)
	}
	s.says(adminapi.Question{Path: groupPath("g") + own, Token: bob}, adminapi.Refused, "roles", "", "404 SubscriptionNotFound")
	raw := "GET " + groupPath("g") + own + " HTTP/1.1\r\nHost: portico.example\r\nAuthorization: Bearer " + bob + "\r\n\r\n"
	s.says(adminapi.Question{Raw: []byte(raw)}, adminapi.Refused, "roles", "", "404 SubscriptionNotFound")
	s.says(adminapi.Question{Raw: []byte(raw), Token: ann}, adminapi.Answered, "", "", "200")
	s.says(adminapi.Question{Raw: []byte(raw), Principal: ann}, adminapi.Answered, "", "", "200")
}

// What is asked for with auth.mode none has its one caller.
func TestExplainTokenWithoutSignIn(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	e := s.says(adminapi.Question{Path: groupPath("g") + own, Token: "x"}, adminapi.Answered, "", "", "200")
	if e.SignIn == nil || !strings.Contains(e.SignIn.Advice, "auth.mode is none") {
		t.Errorf("%+v", e.SignIn)
	}
}
