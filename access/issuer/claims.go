package issuer

import (
	"cmp"
	"encoding/json"
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"portico/access"
	"portico/arm"
)

// maxText bounds a name in a token.
const maxText = 256

// ClaimNames names the claims that identify a caller.
type ClaimNames struct {
	ObjectID string
	// AppID lists claims; the first one in a token names the application.
	AppID []string
	// Name is the claim with the caller's name. "" stands for
	// preferred_username, else upn, else the id of an application without a
	// user, else name: many people may have the same name.
	Name   string
	Groups string
}

// claims holds the claims of a verified token.
type claims map[string]json.RawMessage

// text returns a claim that is a string, "" for any other.
func (c claims) text(name string) string {
	var text string
	if json.Unmarshal(c[name], &text) != nil {
		return ""
	}
	return text
}

// texts returns a claim that is a list of strings, or one string.
func (c claims) texts(name string) (texts []string) {
	if json.Unmarshal(c[name], &texts) != nil {
		return []string{c.text(name)}
	}
	return texts
}

// begin returns when the token becomes valid, the zero time if it has no such
// claim. ok is false if the claim is not a time.
func (c claims) begin() (at time.Time, ok bool) {
	raw, given := c["nbf"]
	if !given || string(raw) == "null" {
		return at, true
	}
	var seconds float64
	if json.Unmarshal(raw, &seconds) != nil || math.Abs(seconds) > 1e12 {
		return at, false
	}
	return time.Unix(int64(seconds), 0), true
}

// Descriptions of claims that a token may lack.
const (
	missingTenant = "the tenant of its caller"
	missingCaller = "its caller"
)

// principal returns the principal of the claims. If the tenant or the object
// is not a GUID, missing describes the claim.
func (i *Issuer) principal(c claims) (p access.Principal, missing string) {
	names := i.options.Claims
	p = access.Principal{
		TenantID: i.options.TenantID, ObjectID: strings.ToLower(c.text(names.ObjectID)),
		Issuer: i.options.URL, Groups: access.GroupsOf(c.texts(names.Groups)),
	}
	if p.TenantID == "" {
		p.TenantID = strings.ToLower(c.text(i.options.TenantClaim))
	}
	for _, name := range names.AppID {
		if p.AppID == "" {
			p.AppID = machineText(c.text(name))
		}
	}
	p.Delegated = p.AppID != "" && delegated(c, p)
	p.Name = i.nameOf(c, p)
	switch {
	case !arm.ValidGUID(p.TenantID):
		return p, missingTenant
	case !arm.ValidGUID(p.ObjectID):
		return p, missingCaller
	}
	return p, ""
}

// nameOf returns the name of a caller; see [ClaimNames].
func (i *Issuer) nameOf(c claims, p access.Principal) string {
	if name := i.options.Claims.Name; name != "" {
		return shown(c.text(name))
	}
	application := ""
	if !p.Delegated {
		application = p.AppID
	}
	return cmp.Or(shown(c.text("preferred_username")), shown(c.text("upn")), application, shown(c.text("name")))
}

// delegated reports whether the application acts for a user. Issuers express
// that in different ways, some only by a subject other than the application.
func delegated(c claims, p access.Principal) bool {
	switch kind := c.text("idtyp"); {
	case kind != "":
		return kind == "user"
	case c.text("scp") != "":
		return true
	}
	subject := c.text("sub")
	return subject != "" && subject != p.AppID && !strings.EqualFold(subject, p.ObjectID)
}

// shown returns a name for people, "" if it cannot be in a header or is invisible.
func shown(text string) string {
	if len(text) > maxText || !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return ""
	}
	return strings.TrimSpace(text)
}

// machineText returns an id of visible ASCII, "" for any other.
func machineText(text string) string {
	if len(text) > maxText || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	return text
}
