package chain

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"portico/gateway/exchange"
	"portico/limits"
)

// answered is what came of a request.
type answered struct {
	*httptest.ResponseRecorder
	aborted bool
}

// ask sends a request with Accept-Encoding to a handler behind a compressor of answers
// from 100 bytes on.
func ask(t *testing.T, method, accept string, memory *limits.Memory, handle http.HandlerFunc) (got answered) {
	t.Helper()
	h := exchange.Begin(&exchange.Settings{})(NewCompressor(100, memory).Compress(handle))
	r := httptest.NewRequestWithContext(t.Context(), method, "/", nil)
	if accept != "" {
		r.Header.Set("Accept-Encoding", accept)
	}
	got.ResponseRecorder = httptest.NewRecorder()
	defer func() {
		if err, ok := recover().(error); ok && errors.Is(err, http.ErrAbortHandler) {
			got.aborted = true
		}
	}()
	h.ServeHTTP(got, r)
	return got
}

func (a answered) unpacked(t *testing.T) string {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(a.Body.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func room() *limits.Memory { return limits.NewMemory(4*writerMemory, 4*writerMemory, nil) }

// answer writes a body with headers by pairs.
func write(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestWhatIsCompressed(t *testing.T) {
	long, short := strings.Repeat("0123456789", 100), strings.Repeat("x", 99)
	for _, row := range []struct {
		what, method, accept, body string
		status                     int
		header                     []string
		packed                     bool
	}{
		{"a long answer", "GET", "gzip", long, 200, nil, true},
		{"one of known length", "GET", "br, gzip;q=0.8", long, 200, []string{"Content-Length", "1000"}, true},
		{"an error", "POST", "gzip", long, 409, nil, true},
		{"a weak tag", "GET", "gzip", long, 200, []string{"ETag", `W/"a"`}, true},
		{"XML", "GET", "gzip", long, 200, []string{"Content-Type", "text/xml"}, true},
		{"problem", "GET", "gzip", long, 200, []string{"Content-Type", "application/Problem+JSON"}, true},
		{"nobody asks", "GET", "", long, 200, nil, false},
		{"no gzip", "GET", "gzip;q=0, *", long, 200, nil, false},
		{"HEAD", "HEAD", "gzip", "", 200, []string{"Content-Length", "1000"}, false},
		{"short", "GET", "gzip", short, 200, nil, false},
		{"short, of known length", "GET", "gzip", short, 200, []string{"Content-Length", "99"}, false},
		{"short, and nothing else will do", "GET", "gzip, identity;q=0", short, 200, nil, true},
		{"nothing, and nothing else will do", "GET", "gzip, identity;q=0", "", 200, []string{"Content-Length", "0"}, false},
		{"no content", "DELETE", "gzip", "", 204, nil, false},
		{"not modified", "GET", "gzip", "", 304, nil, false},
		{"a part", "GET", "gzip", long, 206, []string{"Content-Range", "bytes 0-999/2000"}, false},
		{"encoded", "GET", "gzip", long, 200, []string{"Content-Encoding", "br"}, false},
		{"a strong tag", "GET", "gzip", long, 200, []string{"ETag", `"a"`}, false},
		{"a digest", "GET", "gzip", long, 200, []string{"Content-MD5", "x"}, false},
		{"parts can be asked for", "GET", "gzip", long, 200, []string{"Accept-Ranges", "bytes"}, false},
		{"events", "GET", "gzip", long, 200, []string{"Content-Type", "text/event-stream"}, false},
		{"bytes", "GET", "gzip", long, 200, []string{"Content-Type", "application/octet-stream"}, false},
	} {
		t.Run(row.what, func(t *testing.T) {
			memory := room()
			got := ask(t, row.method, row.accept, memory, write(row.status, row.body, row.header...))
			h := got.Result().Header
			if got.aborted || got.Code != row.status || (h.Get("Vary") == "Accept-Encoding") != (row.accept != "") {
				t.Errorf("%v %d %v", got.aborted, got.Code, h)
			}
			text := got.Body.String()
			if row.packed {
				if h.Get("Content-Encoding") != "gzip" || h.Get("Content-Length") != "" {
					t.Fatalf("%v", h)
				}
				text = got.unpacked(t)
			} else if h.Get("Content-Encoding") == "gzip" {
				t.Fatalf("%v", h)
			}
			if text != row.body {
				t.Errorf("%d bytes, want %d", len(text), len(row.body))
			}
			if memory.Free() != 4*writerMemory {
				t.Errorf("%d bytes are held", 4*writerMemory-memory.Free())
			}
		})
	}
}

// A provider's Vary stays.
func TestVary(t *testing.T) {
	long := strings.Repeat("0123456789", 100)
	for sent, want := range map[string]string{"Accept-Language": "Accept-Language, Accept-Encoding", "accept-encoding, Origin": "accept-encoding, Origin", "*": "*"} {
		got := ask(t, "GET", "gzip", room(), write(200, long, "Vary", sent))
		if vary := strings.Join(got.Result().Header["Vary"], ", "); vary != want {
			t.Errorf("%q", vary)
		}
	}
	if vary[0] != "Accept-Encoding" || len(vary) != 1 {
		t.Errorf("%q: it is shared", vary)
	}
}

// Where there is no memory, answers go as they are.
func TestWithoutMemory(t *testing.T) {
	long := strings.Repeat("0123456789", 100)
	memory := limits.NewMemory(writerMemory, writerMemory, nil)
	inner := false
	got := ask(t, "GET", "gzip", memory, func(w http.ResponseWriter, r *http.Request) {
		write(200, long)(w, r)
		inner = true
		second := ask(t, "GET", "gzip", memory, write(200, long))
		if second.Body.String() != long || second.Result().Header.Get("Content-Encoding") != "" {
			t.Errorf("%v", second.Result().Header)
		}
	})
	if !inner || got.unpacked(t) != long || memory.Free() != writerMemory {
		t.Errorf("%d bytes are free", memory.Free())
	}
}

// What an answer lacks of its declared length must show, as must what breaks off.
func TestBrokenAnswers(t *testing.T) {
	long := strings.Repeat("0123456789", 100)
	memory := room()
	short := ask(t, "GET", "gzip", memory, write(200, long, "Content-Length", "1001"))
	broken := ask(t, "GET", "gzip", memory, func(w http.ResponseWriter, r *http.Request) {
		write(200, long)(w, r)
		panic(http.ErrAbortHandler)
	})
	for _, got := range []answered{short, broken} {
		if !got.aborted {
			t.Error("it was ended like a whole one")
		}
		if r, err := gzip.NewReader(got.Body); err == nil {
			if _, err := io.ReadAll(r); err == nil {
				t.Error("it can be taken for a whole one")
			}
		}
	}
	long2 := ask(t, "GET", "gzip", memory, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, long)
		if _, err := io.WriteString(w, "x"); !errors.Is(err, http.ErrContentLength) {
			t.Errorf("%v", err)
		}
	})
	if !long2.aborted {
		t.Error("more than was declared went out")
	}
	if memory.Free() != 4*writerMemory {
		t.Errorf("%d bytes are held", 4*writerMemory-memory.Free())
	}
}

// What is flushed can be read before the answer has ended.
func TestFlush(t *testing.T) {
	long := strings.Repeat("0123456789", 100)
	var got answered
	recorder := httptest.NewRecorder()
	h := exchange.Begin(&exchange.Settings{})(NewCompressor(100, room()).Compress(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		write(200, long)(w, r)
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		z, err := gzip.NewReader(bytes.NewReader(recorder.Body.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		text := make([]byte, len(long))
		if _, err := io.ReadFull(z, text); err != nil || string(text) != long || !recorder.Flushed {
			t.Errorf("%v, flushed: %v", err, recorder.Flushed)
		}
	})))
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
	r.Header.Set("Accept-Encoding", "gzip")
	h.ServeHTTP(recorder, r)
	got.ResponseRecorder = recorder
	if got.unpacked(t) != long {
		t.Errorf("%d bytes", recorder.Body.Len())
	}
}
