package contoso

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	accepted   = "x-contoso-async: accepted-async"
	byLocation = "x-contoso-async: location"
	byClient   = "x-ms-client-object-id: 00000000-0000-0000-0000-00000000a110"
)

func TestDeleteOverlooksAHiddenCreate(t *testing.T) {
	for f, status := range map[string]int{"overlook": 204, "overlook=404": 404} {
		s := newSite(t, "westus")
		created := s.do(202, "PUT", vm+version, westVM, accepted, inASecond)
		s.do(status, "DELETE", vm+version, "", faulty(f))
		s.do(404, "GET", vm+version, "")
		s.advance(time.Second)
		s.get(vm+version).want("Succeeded", "properties", "provisioningState")
		s.get(created.local(created.header.Get("Azure-AsyncOperation"))).want("Succeeded", "status")
		s.do(200, "DELETE", vm+version, "", faulty(f)) // what shows is deleted as ever
		s.do(status, "DELETE", vm+version, "", faulty(f))
	}
	s := newSite(t, "westus") // without the fault the create never lands
	s.do(202, "PUT", vm+version, westVM, accepted, inASecond)
	s.do(204, "DELETE", vm+version, "")
	s.advance(time.Second)
	s.do(404, "GET", vm+version, "")
}

func TestNewOperationsAreFoundLate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	s := newSiteWith(t, Options{Region: "westus", StateFile: path})
	a := s.do(202, "PUT", vm+version, westVM, accepted, "x-contoso-duration: 3s", faulty("polls-late=2s"))
	polls := []string{a.local(a.header.Get("Location")), a.local(a.header.Get("Azure-AsyncOperation"))}
	for range 3 {
		for _, poll := range polls {
			s.refused(404, "OperationNotFound", "GET", poll, "")
		}
	}
	s.advance(time.Second)
	s = revive(t, s, path, asItIs)
	s.refused(404, "OperationNotFound", "GET", polls[0], "")
	s.advance(time.Second)
	s.do(202, "GET", polls[0], "")
	s.get(polls[1]).want("Creating", "status")
	s.advance(time.Second)
	s.get(polls[1]).want("Succeeded", "status")
	s.do(201, "GET", polls[0], "")
}

// While an accepted write of a resource runs, shown or hidden, and no longer, its DELETE is
// refused, in the words that were asked for and without Retry-After.
func TestBusyResources(t *testing.T) {
	s := newSite(t, "westus")
	const busy, inWords = "busy=AnotherOperationInProgress", "busy=BadRequest,400"
	s.do(201, "PUT", vm+version, westVM, "x-contoso-async: state", "x-contoso-duration: 1h")
	s.do(202, "PUT", vm+"2"+version, westVM, "x-contoso-async: accepted", "x-contoso-duration: 1h")
	s.do(201, "PUT", vm+"3"+version, westVM)
	s.do(202, "PATCH", vm+"3"+version, `{"tags":{"a":"b"}}`, "x-contoso-async: location", "x-contoso-duration: 1h")
	s.do(201, "PUT", vm+"4"+version, westVM)
	s.do(201, "PUT", vm+"5"+version, westVM)
	s.do(201, "PUT", vm+"5/disks/d"+version, `{"properties":{}}`, "x-contoso-async: state", "x-contoso-duration: 1h")
	for _, name := range []string{vm, vm + "2", vm + "3", vm + "5", vm + "5/disks/d"} {
		if a := s.do(409, "DELETE", name+version, "", faulty(busy)); a.at("error", "code") != "AnotherOperationInProgress" || a.header.Get("Retry-After") != "" {
			t.Errorf("%s: %v %s", name, a.header, a.body)
		}
		s.refused(400, "BadRequest", "DELETE", name+version, "", faulty(inWords))
	}
	s.do(200, "DELETE", vm+"4"+version, "", faulty(busy))
	s.do(204, "DELETE", vm+"4"+version, "", faulty(inWords))
	s.advance(time.Hour)
	for _, name := range []string{vm, vm + "2", vm + "3"} {
		s.do(200, "DELETE", name+version, "", faulty(busy))
	}
	for _, wrong := range []string{"busy", "busy=", "busy=Code,500", "busy=Code,x", "busy=a b"} {
		s.do(400, "DELETE", vm+version, "", faulty(wrong))
	}
}

func TestPollsOfAnotherVersionAreRefused(t *testing.T) {
	s := newSite(t, "westus")
	a := s.do(202, "PUT", vm+version, westVM, accepted, inASecond, faulty("polls-strict"))
	b := s.do(202, "PUT", vm+"2"+version, westVM, accepted, inASecond)
	for _, link := range []string{a.header.Get("Location"), a.header.Get("Azure-AsyncOperation")} {
		poll := a.local(link)
		for _, other := range []string{strings.Replace(poll, version, old, 1), strings.Replace(poll, version, "", 1), poll + "&api-version=2024-01-01"} {
			s.refused(400, "InvalidApiVersionParameter", "GET", other, "")
		}
		if got, err := s.send("GET", poll, ""); err != nil || got.status > 202 {
			t.Errorf("%d %s %v", got.status, got.body, err)
		}
	}
	poll := b.local(b.header.Get("Location"))
	s.do(202, "GET", strings.Replace(poll, version, old, 1), "")
	s.do(202, "GET", strings.Replace(poll, version, "", 1), "")
}

func TestHiddenFromClients(t *testing.T) {
	s := newSite(t, "westus")
	s.do(201, "PUT", vm+version, westVM)
	s.refused(404, "ResourceNotFound", "GET", vm+version, "", byClient, faulty("hidden-from-clients"))
	s.do(200, "GET", vm+version, "", faulty("hidden-from-clients"))
	s.do(201, "POST", "/contoso/faults", `{"method":"GET","pathContains":"/vm1","fault":"hidden-from-clients","count":2}`)
	for range 2 { // Portico's own calls use up nothing
		for range 3 {
			s.get(vm + version)
		}
		s.refused(404, "ResourceNotFound", "GET", vm+version, "", byClient)
	}
	s.get(vm+version, byClient)
}

func TestAbsencesOfSomethingElse(t *testing.T) {
	s := newSite(t, "westus")
	s.do(201, "PUT", vm+version, westVM)
	for _, method := range []string{"GET", "DELETE"} {
		s.refused(404, "SubscriptionNotFound", method, vm+version, "", faulty("not-found=SubscriptionNotFound"))
		if a := s.do(404, method, vm+version, "", faulty("not-found=page")); !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") || !strings.Contains(a.body, "<html>") {
			t.Errorf("%v %s", a.header, a.body)
		}
	}
	s.get(vm + version)
	s.refused(400, "InvalidContosoHeader", "GET", vm+version, "", faulty("not-found"))
	s.refused(400, "InvalidContosoHeader", "GET", vm+version, "", faulty(`not-found="`))
}

func TestDeletesThatDoNotShow(t *testing.T) {
	s := newSite(t, "westus")
	deletes := func() reply {
		t.Helper()
		return s.do(202, "DELETE", vm+version, "", byLocation, inASecond, faulty("unshown"))
	}
	ends := func(a reply) {
		t.Helper()
		s.advance(time.Second)
		s.do(200, "GET", a.local(a.header.Get("Location")), "")
	}
	s.do(201, "PUT", vm+version, westVM)
	a := deletes()
	s.get(vm+version).want("Succeeded", "properties", "provisioningState")
	ends(a)
	s.do(404, "GET", vm+version, "")

	s.do(201, "PUT", vm+version, westVM) // what was accepted lands on a later write too
	a = deletes()
	s.do(200, "PUT", vm+version, `{"location":"westus","properties":{"n":2}}`)
	s.do(200, "PUT", vm+version, `{"location":"westus","properties":{"n":3}}`, asyncState, "x-contoso-duration: 3s")
	ends(a)
	s.do(404, "GET", vm+version, "")
	s.advance(3 * time.Second)
	s.do(404, "GET", vm+version, "")

	s.do(201, "PUT", vm+version, westVM) // but on nothing that comes after another delete's end
	a = deletes()
	s.do(200, "DELETE", vm+version, "")
	s.do(201, "PUT", vm+version, westVM)
	ends(a)
	s.get(vm + version)

	// Nor does an accepted PATCH show before its end.
	a = s.do(202, "PATCH", vm+version, `{"tags":{"a":"b"}}`, byLocation, inASecond, faulty("unshown"))
	s.get(vm+version).want("Succeeded", "properties", "provisioningState")
	s.get(vm+version).want(nil, "tags", "a")
	ends(a)
	s.get(vm+version).want("b", "tags", "a")

	s.do(200, "DELETE", vm+version, "", faulty("unshown")) // a synchronous one has nothing to hide
	s.do(404, "GET", vm+version, "")
}

func TestCutRequest(t *testing.T) {
	s := newSite(t, "westus")
	content := `{"location":"westus","properties":{"filler":"` + strings.Repeat("x", 3<<20) + `"}}`
	if _, err := s.send("PUT", vm+version, content, faulty("cut-request")); err == nil {
		t.Error("it was answered")
	}
	for _, method := range []string{"PUT", "DELETE"} {
		if _, err := s.send(method, vm+version, westVM[:min(len(westVM), 20)], faulty("cut-request")); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s: %v", method, err)
		}
	}
	s.do(404, "GET", vm+version, "")
	// It goes on as soon as half is there, without the other half.
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	must(t, err)
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: x\r\nx-contoso-fault: cut-request\r\nContent-Length: 20\r\n\r\n0123456789", vm+version)
	if n, err := conn.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func TestCutAnswer(t *testing.T) {
	s := newSite(t, "westus")
	if a, err := s.send("PUT", vm+version, westVM, faulty("cut-answer")); !errors.Is(err, io.ErrUnexpectedEOF) || a.status != 201 || a.body == "" {
		t.Errorf("%d %q %v", a.status, a.body, err)
	}
	s.get(vm + version) // it was carried out
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	must(t, err)
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	fmt.Fprintf(conn, "DELETE %s HTTP/1.1\r\nHost: x\r\nReferer: %s\r\nx-contoso-async: location\r\nx-contoso-fault: cut-answer\r\n\r\n", vm+version, public+vm+version)
	text, err := io.ReadAll(bufio.NewReader(conn))
	if err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 202 Accepted\r\n") || strings.Contains(string(text), "\r\n\r\n") {
		t.Errorf("%q %v", text, err)
	}
	s.get(vm+version).want("Deleting", "properties", "provisioningState")
	if _, err := http.ReadResponse(bufio.NewReader(strings.NewReader(string(text))), nil); err == nil { //nolint:bodyclose // there is none
		t.Error("a half is a whole answer")
	}
}

// A create that is asynchronous lands, hidden at first, long after the connection
// was reset; so does a delete.
func TestOperationsThatBeginAfterNoAnswer(t *testing.T) {
	s := newSite(t, "westus")
	if _, err := s.send("PUT", vm+version, westVM, accepted, inASecond, faulty("late=1ms")); err == nil {
		t.Error("it was answered")
	}
	started := func() bool {
		s.Provider.mu.Lock()
		defer s.Provider.mu.Unlock()
		return len(s.state.running) == 1
	}
	eventually(t, started)
	s.do(404, "GET", vm+version, "")
	s.advance(time.Second)
	s.get(vm + version)
	if _, err := s.send("DELETE", vm+version, "", byLocation, inASecond, faulty("late=1ms")); err == nil {
		t.Error("it was answered")
	}
	eventually(t, started)
	s.get(vm + version)
	s.advance(time.Second)
	s.do(404, "GET", vm+version, "")
}
