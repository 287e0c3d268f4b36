package server

import (
	"bytes"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"time"

	"portico/tracing/headers"
)

// MaxLines bounds the lines of a head; each costs more than its bytes.
const MaxLines = 4000

// span is the position of a header line in a head: start, colon and end.
type span struct{ from, colon, to int }

// readHead reads a head. It checks each line as it arrives, so that it need
// not wait for the end of something that is not a request. The head is valid
// until the next read; c.lines has the positions of its header lines.
func (c *conn) readHead() (head []byte, err error) {
	limit := c.server.options.MaxHead
	c.lines = c.lines[:0]
	waits := false
	for at, first := 0, true; ; {
		end := bytes.IndexByte(c.in[c.r+at:c.w], '\n')
		if end < 0 {
			if c.w-c.r > limit {
				return nil, errTooLarge
			}
			if !waits {
				waits = true
				c.reads.extend(c.SetReadDeadline, time.Now().Add(c.server.options.ReadHeaderTimeout))
			}
			c.room()
			if err := c.fill(); err != nil {
				return nil, err
			}
			continue
		}
		from := at
		line := c.in[c.r+at : c.r+at+end]
		if at += end + 1; at > limit {
			return nil, errTooLarge
		}
		if n := len(line); n > 0 && line[n-1] == '\r' {
			line = line[:n-1]
		}
		switch {
		case first:
			first = false
			limit += at // the headers have the same limit again: links to pages and tokens are long
			err = checkRequestLine(line)
		case len(line) == 0:
			head = c.in[c.r : c.r+at]
			c.r += at
			return head, nil
		case len(c.lines) == MaxLines:
			return nil, errManyLines
		default:
			var colon int
			colon, err = checkField(line)
			c.lines = append(c.lines, span{from, from + colon, from + len(line)})
		}
		if err != nil {
			return nil, err
		}
	}
}

// checkRequestLine checks that a line is a method, a target and a version,
// separated by spaces. The target is parsed later.
func checkRequestLine(line []byte) error {
	method, rest, ok := bytes.Cut(line, []byte{' '})
	target, version, ok2 := bytes.Cut(rest, []byte{' '})
	switch {
	case !ok || !ok2 || !headers.IsToken(method) || len(target) == 0:
		return errRequestLine
	case string(version) == "HTTP/1.1", string(version) == "HTTP/1.0":
		return nil
	case len(version) == len("HTTP/1.1") && string(version[:5]) == "HTTP/" && headers.IsDigits(version[5:6]) && version[6] == '.' &&
		headers.IsDigits(version[7:]):
		return errVersion
	}
	return errRequestLine
}

// checkField checks a header line. It refuses a space before the colon,
// because other servers then read another name.
func checkField(line []byte) (colon int, err error) {
	if line[0] == ' ' || line[0] == '\t' {
		return 0, errFolded
	}
	colon = bytes.IndexByte(line, ':')
	if colon < 0 || !headers.IsToken(line[:colon]) || !headers.IsFieldValue(line[colon+1:]) {
		return 0, errFieldLine
	}
	return colon, nil
}

// parseHead fills the request from a checked head.
func (c *conn) parseHead(head []byte, r *http.Request, u *url.URL) error {
	text := string(head) // all strings share its memory
	line, _, _ := strings.Cut(text, "\n")
	line = strings.TrimSuffix(line, "\r")
	r.Method, line, _ = strings.Cut(line, " ")
	r.RequestURI, r.Proto, _ = strings.Cut(line, " ")
	r.ProtoMajor, r.ProtoMinor = 1, int(r.Proto[len("HTTP/1.")]-'0')
	if err := parseTarget(r, u); err != nil {
		return err
	}
	r.Header = parseFields(text, c.lines)
	host := r.Header["Host"]
	switch {
	case len(host) > 1, len(host) == 1 && !headers.IsHost(host[0]):
		return errHost
	case len(host) == 0 && r.ProtoMinor > 0:
		return errNoHost
	}
	if r.Host = u.Host; r.Host == "" && len(host) > 0 {
		r.Host = host[0]
	}
	delete(r.Header, "Host")
	if pragma := r.Header["Pragma"]; len(pragma) > 0 && pragma[0] == "no-cache" && r.Header["Cache-Control"] == nil {
		r.Header["Cache-Control"] = []string{"no-cache"} // like net/http
	}
	return nil
}

func parseFields(text string, lines []span) http.Header {
	header, values := make(http.Header, len(lines)), make([]string, len(lines))
	for _, l := range lines {
		name, value := textproto.CanonicalMIMEHeaderKey(text[l.from:l.colon]), headers.TrimSpace(text[l.colon+1:l.to])
		if known := header[name]; known != nil {
			header[name] = append(known, value)
			continue
		}
		values[0] = value
		header[name], values = values[:1:1], values[1:]
	}
	return header
}

// parseTarget parses a request target like [url.ParseRequestURI], but cheaply
// for usual targets.
func parseTarget(r *http.Request, u *url.URL) error {
	r.URL = u
	target := r.RequestURI
	if path, query, ok := plainTarget(target); ok {
		u.Path, u.RawQuery = path, query
		return nil
	}
	authority := r.Method == http.MethodConnect && target[0] != '/'
	if authority {
		target = "http://" + target
	}
	parsed, err := url.ParseRequestURI(target)
	if err != nil {
		return errTarget
	}
	if *u = *parsed; authority {
		u.Scheme = ""
	}
	return nil
}

// plainTarget splits a target if its path has no byte with a meaning or in
// need of escaping, and its query no control byte.
func plainTarget(target string) (path, query string, ok bool) {
	if target[0] != '/' {
		return "", "", false
	}
	end := len(target)
	for i := range len(target) {
		if !plainInPath[target[i]] {
			end = i
			break
		}
	}
	switch {
	case end == len(target):
		return target, "", true
	case target[end] != '?', end == len(target)-1, !headers.IsVisible(target[end:]):
		return "", "", false
	}
	return target[:end], target[end+1:], true
}

// plainInPath has the bytes that are the same in a parsed and in an escaped path.
var plainInPath = func() (plain [256]bool) {
	for c := range 128 {
		plain[c] = '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || strings.IndexByte("-_.~$&+,/:;=@", byte(c)) >= 0
	}
	return plain
}()
