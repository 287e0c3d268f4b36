package contoso

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"portico/provider/contoso/fault"
	"strconv"
	"strings"
)

// misprint returns the answer with the content that the call's fault selects, if any.
func (c *call) misprint(a answer) answer {
	switch c.fault.Name {
	case fault.NoValue:
		return bodyAnswer(http.StatusOK, []byte("{}"))
	case fault.NextLoop:
		return c.emptyPage("/loop")
	case fault.EndlessPages:
		after, _ := skipTokenKey(c.query.Get("$skiptoken"))
		n, _ := strconv.Atoi(strings.TrimPrefix(after, "/endless/")) // 0 at the beginning
		return c.emptyPage(fmt.Sprintf("/endless/%d", n+1))
	case fault.ByteOrderMark:
		if len(a.body) > 0 {
			a.body = append([]byte("\ufeff"), a.body...)
		}
	case fault.GzipBomb:
		a := bodyAnswer(http.StatusOK, zippedPage(c.fault.Number))
		a.header.Set("Content-Encoding", "gzip")
		return a
	}
	return a
}

// emptyPage returns an empty page with a link to the page after key.
func (c *call) emptyPage(key string) answer {
	next, err := c.nextLink(key)
	if err != nil {
		return failed(err)
	}
	return bodyAnswer(http.StatusOK, object{{"value", []byte("[]")}, {"nextLink", encode(next)}}.bytes())
}

// zippedPage is a well-formed page of size bytes, compressed.
func zippedPage(size int) []byte {
	const head, tail = `{"value":[]`, `}`
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	filler := bytes.Repeat([]byte(" "), 64<<10)
	// Writing to memory does not fail.
	_, _ = z.Write([]byte(head))
	for left := size - len(head) - len(tail); left > 0; left -= len(filler) {
		_, _ = z.Write(filler[:min(left, len(filler))])
	}
	_, _ = z.Write([]byte(tail))
	_ = z.Close()
	return b.Bytes()
}
