package contract

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"time"
)

// readCases check GET and HEAD. The contract does not mention HEAD: if a
// provider serves it, HTTP's rules hold.
func readCases() []Case {
	return []Case{
		{
			ID: "get/what-is-not-there", Profile: Core, Section: getResource, On: func(*Type) bool { return true },
			Rule:    "if the resource does not exist, 404 is returned",
			Through: "the gateway answers ResourceNotFound for a tracked resource that it does not know",
			Run: func(s *Scene) {
				a := s.get(sibling(s.id, "absent")).refused(404)
				if s.Adapter.Through && isTracked(s.Type) {
					a.check(text(a.doc, "error.code") == "ResourceNotFound", "the code is ResourceNotFound", "%s", a)
				}
			},
		},
		{
			ID: "get/no-such-type", Profile: Core, Section: getResource, On: isFirst, Once: true,
			Rule: "an unknown resource type is not found",
			Run: func(s *Scene) {
				s.get(s.group+"/providers/"+s.Type.provider.Namespace+"/noSuchThings/a", withVersion(s.Type.version())).refused()
			},
		},
		{
			ID: "get/head", Profile: Core, Section: httpSemantics, On: writable,
			Rule:    "HEAD, if it is served, answers as GET does",
			Through: "the gateway answers 204 if the resource exists",
			Run: func(s *Scene) {
				s.created()
				a := s.call(http.MethodHead, s.id, nil)
				if a.Status == http.StatusNotFound || a.Status == http.StatusMethodNotAllowed || a.Status == http.StatusNotImplemented {
					s.leaveOut("the provider does not serve HEAD")
				}
				a.status(forWay(s, 200, 204))
				s.call(http.MethodHead, sibling(s.id, "absent"), nil).status(404)
			},
		},
		{
			ID: "get/head-has-no-body-on-the-wire", Profile: Core, Section: httpSemantics, On: isFirst, Once: true,
			Rule:    "the answer to HEAD has no body",
			Through: "the same",
			Run: func(s *Scene) {
				s.created()
				a, err := rawHead(s, s.id)
				if err != nil {
					s.unlessStopped(err)
					s.fatal("HEAD is answered on a plain connection", err.Error())
				}
				a.s, s.last = s, a
				s.recordStep(a)
				s.check(len(a.Body) == 0, "the answer to HEAD has no body", "%q", clip(string(a.Body), 200))
			},
		},
	}
}

// rawHead makes a HEAD call on a new connection. The answer's body holds the
// bytes after its header, which client libraries hide.
func rawHead(s *Scene, id string) (*Answer, error) {
	ctx, cancel := context.WithTimeout(s.ctx, s.Limits.Call)
	defer cancel()
	target := escape(id) + "?api-version=" + s.Type.version()
	c := call{method: http.MethodHead, target: target, region: s.endpoint(id), header: http.Header{"Connection": {"close"}}, untilClose: true}
	r, sent, err := s.Adapter.request(ctx, c)
	if err != nil {
		return nil, err
	}
	conn, err := s.Adapter.dial(ctx, r.URL)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }() // read to the end, or failed
	if err := conn.SetDeadline(time.Now().Add(s.Limits.Call)); err != nil {
		return nil, err
	}
	if err := r.Write(conn); err != nil {
		return nil, err
	}
	complete, err := io.ReadAll(conn)
	if err != nil && len(complete) == 0 { // a server may keep the connection all the same
		return nil, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(complete)), r) //nolint:bodyclose // a HEAD's answer has no body to close
	if err != nil {
		return nil, err
	}
	_, rest, _ := bytes.Cut(complete, []byte("\r\n\r\n"))
	return &Answer{call: c, ids: sent, sent: r, Status: resp.StatusCode, Header: resp.Header, Body: rest}, nil
}
