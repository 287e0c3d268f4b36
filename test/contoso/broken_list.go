package contoso

import (
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// ticket parts the key of a skip token from the number that makes it good for one page.
const ticket = "\x00"

// numbered is the key of a skip token, with a number where tokens are read once.
func (b breaks) numbered(key string) string {
	if b[nextLinkOnce] {
		return key + ticket + uuid.NewString()
	}
	return key
}

// onlyOnce refuses a skip token that was read before, where tokens are read once.
func (p *Provider) onlyOnce(after string) (string, error) {
	key, number, found := strings.Cut(after, ticket)
	if found && p.met.again("token "+number) {
		return "", badRequest("InvalidSkipToken", "The query parameter $skipToken was read before.")
	}
	return key, nil
}

// misread refuses a further page in another casing of its group.
func (b breaks) misread(c *call, after string, p page) error {
	if !b[nextLinkCasing] || after == "" || len(p.resources) == 0 || c.address.group == "" {
		return nil
	}
	if a, err := addressOf(p.resources[0].ID); err != nil || a.group != c.address.group {
		return badRequest("InvalidSkipToken", "The query parameter $skipToken belongs to another group.")
	}
	return nil
}

// pageByOffset is a page that begins after a number of resources. What stands for the key
// of a token is that number.
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
