package contoso

import (
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// ticket separates the key of a skip token from the number that limits the token's use.
const ticket = "\x00"

// numberedKey returns the key of a skip token. It has a number if tokens can
// be read only once, or only while nothing changes.
func (t *tx) numberedKey(key string) string {
	switch {
	case t.breaks[nextLinkOnce]:
		return key + ticket + uuid.NewString()
	case t.breaks[nextLinkStale]:
		return key + ticket + t.edition(key)
	}
	return key
}

// edition returns a text that changes with the resources of the key's group.
func (t *tx) edition(key string) string {
	parts := strings.SplitAfterN(key, "/", 6)
	return strings.Join(t.keysBelow(strings.Join(parts[:min(5, len(parts))], ""), ""), "\n")
}

// readTokenOnce refuses a skip token that was read before, if tokens can be
// read only once.
func (p *Provider) readTokenOnce(after string) (key, number string, err error) {
	key, number, _ = strings.Cut(after, ticket)
	if p.breaks[nextLinkOnce] && number != "" && p.met.again("token "+number) {
		err = badRequest("InvalidSkipToken", "The query parameter $skipToken was read before.")
	}
	return key, number, err
}

// refusePage refuses a further page in another casing of its group, or after a change.
func (t *tx) refusePage(c *call, after, number string, p page) error {
	if t.breaks[nextLinkStale] && number != "" && number != t.edition(after) {
		return badRequest("InvalidSkipToken", "The query parameter $skipToken is of an earlier state.")
	}
	if !t.breaks[nextLinkCasing] || after == "" || len(p.resources) == 0 || c.address.group == "" {
		return nil
	}
	if a, err := addressOf(p.resources[0].ID); err != nil || a.group != c.address.group {
		return badRequest("InvalidSkipToken", "The query parameter $skipToken belongs to another group.")
	}
	return nil
}

// pageByOffset returns a page that begins after a number of resources, which
// the token holds instead of a key.
func (t *tx) pageByOffset(kind *resourceType, prefix, after string, size int) page {
	from, _ := strconv.Atoi(strings.TrimPrefix(after, "/"))
	var all []*resource
	for _, k := range t.keysBelow(prefix, "") {
		if r := t.resource(k); r.Type == kind.name() {
			all = append(all, r)
		}
	}
	from = min(from, len(all))
	to := min(from+size, len(all))
	return page{resources: all[from:to], more: to < len(all), after: "/" + strconv.Itoa(to)}
}
