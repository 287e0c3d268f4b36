package connections

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// scan scans a stream in parts of the lengths that cut gives.
func scan(stream []byte, cut func(most int) int) *headScanner {
	h := new(headScanner)
	for len(stream) > 0 {
		n := cut(len(stream))
		h.scan(stream[:n])
		stream = stream[n:]
	}
	return h
}

// The scanner finds the first well-formed request with both a length and chunks, and no
// other, however the stream is cut; it counts all heads before it.
func TestHeads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var stream bytes.Buffer
		var want, heads int64
		spell := func(name string) string {
			return rapid.SampledFrom([]string{name, strings.ToLower(name), strings.ToUpper(name)}).Draw(t, "spelling") + rapid.SampledFrom([]string{":", ": ", ":\t "}).Draw(t, "colon")
		}
		end := func() string { return rapid.SampledFrom([]string{"\r\n", "\r\n", "\n"}).Draw(t, "end") }
		for range rapid.IntRange(1, 6).Draw(t, "requests") {
			method := rapid.SampledFrom([]string{"GET", "PUT", "POST"}).Draw(t, "method")
			stream.WriteString(method + " /content-length:5 HTTP/1.1" + end())
			body := rapid.SampledFrom([]string{"", "x", "{}\n", "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", "GET / HTTP/1.1\r\n\r\n"}).Draw(t, "body")
			sized, coded := body != "" || rapid.Bool().Draw(t, "sized"), rapid.IntRange(0, 3).Draw(t, "coded") == 0
			lines := []string{"Host: a"}
			if sized {
				lines = append(lines, spell("Content-Length")+fmt.Sprintf("%0*d", rapid.IntRange(1, 30).Draw(t, "zeros"), len(body))+rapid.SampledFrom([]string{"", " ", "\t"}).Draw(t, "behind"))
			}
			if coded {
				lines = append(lines, spell("Transfer-Encoding")+rapid.SampledFrom([]string{"chunked", "\r\n chunked", "Chunked"}).Draw(t, "coding"))
			}
			for range rapid.IntRange(0, 3).Draw(t, "others") {
				lines = append(lines, rapid.SampledFrom([]string{"Content: x", "Content-Lengt: 5", "Content-Length2: 5", "X: a\r\n b", "X:\r\n Content-Length: 7", "T: 1", "Transfer-Encodings: a", "X: Transfer-Encoding: chunked", "X: " + strings.Repeat("y", 5000)}).Draw(t, "other"))
			}
			for _, line := range rapid.Permutation(lines).Draw(t, "order") {
				stream.WriteString(line + end())
			}
			stream.WriteString(end())
			heads++
			if sized && coded {
				want = heads
			}
			if coded {
				stream.WriteString("5\r\nhello\r\n0\r\n\r\n")
				break
			}
			stream.WriteString(body)
			if method == "POST" {
				stream.WriteString(rapid.SampledFrom([]string{"", "\r\n", "\n"}).Draw(t, "leading"))
			}
		}
		h := scan(stream.Bytes(), func(most int) int { return rapid.IntRange(1, min(most, 60)).Draw(t, "cut") })
		if h.count != heads || h.ambiguous.Load() != want {
			t.Fatalf("%d heads of %d, ambiguous is %d, not %d: %q", h.count, heads, h.ambiguous.Load(), want, stream.String())
		}
		requireRead(t, stream.Bytes(), h)
	})
}

// fataler is what tests and fuzz targets have in common.
type fataler interface{ Fatalf(string, ...any) }

// requireRead lets net/http read the same bytes, until a server would end the
// connection, and compares.
func requireRead(t fataler, stream []byte, h *headScanner) {
	all := &countingReader{r: bytes.NewReader(stream)}
	r := bufio.NewReaderSize(all, 16)
	for n := int64(1); ; n++ {
		at := all.n - r.Buffered()
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		lines, folded := headOf(stream[at:])
		for name := range lines {
			if strings.Contains(name, " ") {
				return // a server refuses it
			}
		}
		both := len(lines["Content-Length"]) > 0 && len(lines["Transfer-Encoding"]) > 0
		found := h.ambiguous.Load() == n
		if both && !found || found && !both && !folded {
			t.Fatalf("head %d, of %d: ambiguous is %d: %q", n, h.count, h.ambiguous.Load(), stream)
		}
		if len(lines["Transfer-Encoding"]) > 0 || found {
			return
		}
		_, err = io.Copy(io.Discard, req.Body)
		if err != nil {
			return
		}
		if req.Method == http.MethodPost {
			skipEmpty(r)
		}
	}
}

// skipEmpty skips empty lines after a POST, as a server does.
func skipEmpty(r *bufio.Reader) {
	next, _ := r.Peek(4)
	for _, b := range next {
		if b != '\r' && b != '\n' {
			return
		}
		_, _ = r.Discard(1)
	}
}

// headOf returns the header of a request as package textproto reads it, before net/http
// removes anything, and reports whether any of its lines is folded.
func headOf(message []byte) (lines textproto.MIMEHeader, folded bool) {
	r := textproto.NewReader(bufio.NewReader(bytes.NewReader(message)))
	if _, err := r.ReadLine(); err != nil {
		return nil, false
	}
	lines, _ = r.ReadMIMEHeader()
	return lines, bytes.Contains(message, []byte("\n ")) || bytes.Contains(message, []byte("\n\t"))
}

// countingReader counts the bytes read.
type countingReader struct {
	r io.Reader
	n int
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}

// For any stream, the scanner finds the head that net/http reads as one with a length
// and chunks, however the bytes are cut.
func FuzzHeads(f *testing.F) {
	for _, seed := range []string{
		"GET / HTTP/1.1\r\nHost: a\r\n\r\nPUT / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
		"PUT / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcPUT / HTTP/1.1\nTransfer-Encoding: chunked\ncontent-length : 4\nContent-Length: 1\n\n",
		"POST / HTTP/1.0\r\nContent-Length:\r\n 3\r\n\r\nabc\r\n\r\nGET / HTTP/1.1\r\n\r\n",
		"PUT / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\n: x\r\n \r\n\r\n\r",
		"PUT / HTTP/1.1\r\nContent-Length: 9223372036854775807\r\nX: \r\n\r\nabc",
		"PRI * HTTP/2.0\r\nTransfer-Encoding:\r\n chunked\r\nContent-Length: 0\r\n\r\n",
	} {
		f.Add([]byte(seed), uint8(3))
	}
	f.Fuzz(func(t *testing.T, stream []byte, cut uint8) {
		h := scan(stream, func(most int) int { return most })
		other := scan(stream, func(most int) int { return min(most, int(cut)+1) })
		if h.count != other.count || h.ambiguous.Load() != other.ambiguous.Load() || h.state != other.state {
			t.Fatalf("cut after each %d bytes: %d of %d, not %d of %d", int(cut)+1, other.ambiguous.Load(), other.count, h.ambiguous.Load(), h.count)
		}
		requireRead(t, stream, h)
	})
}

// A common head needs no allocation.
func TestHeadsAllocateNothing(t *testing.T) {
	h := new(headScanner)
	request := []byte("PUT / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\nAuthorization: Bearer x\r\n\r\n{}")
	if n := testing.AllocsPerRun(100, func() { h.scan(request) }); n > 0 || h.count != 101 {
		t.Errorf("%v allocations, %d heads", n, h.count)
	}
}
