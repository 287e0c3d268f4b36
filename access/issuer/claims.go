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

// maxText bounds a name that a token gives.
const maxText = 256

// ClaimNames are the claims that say who a caller is.
type ClaimNames struct {
	ObjectID string
	// AppID are claims; the first that a token has names the application.
	AppID []string
	// Name names the caller. "" stands for preferred_username, else upn, else the id of an
	// application for which no user acts, else name: many people may have the same name.
	Name   string
	Groups string
}

// claims are those of a verified token.
type claims map[string]json.RawMessage

// text returns a claim that is a text, "" for any other.
func (c claims) text(name string) string {
	var text string
	if json.Unmarshal(c[name], &text) != nil {
		return ""
	}
	return text
}

// texts returns a claim that is a list of texts, or one text.
func (c claims) texts(name string) (texts []string) {
	if json.Unmarshal(c[name], &texts) != nil {
		return []string{c.text(name)}
	}
	return texts
}

// begin is when the token becomes valid, the zero time if it does not say so.
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

// What a token may fail to name.
const (
	missingTenant = "the tenant of its caller"
	missingCaller = "its caller"
)

// principal returns whose the claims are. Without a tenant or an object that is a GUID
// there is no principal, and missing names the claim.
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

// nameOf returns the name of a caller, as [ClaimNames] has it.
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

// delegated reports whether the application acts for a user. Issuers say it in different
// ways, some only by the subject being somebody else than the application.
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

// shown returns a name for people, "" for what cannot stand in a header or is not seen.
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
