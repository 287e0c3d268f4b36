package e2e

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"portico/test/harness"
)

// unhurried is a provider that begins to read the contents of machines, and
// reads on only when the test asks for it.
type unhurried struct {
	*httptest.Server
	goOn        chan struct{}
	begun, read atomic.Int64 // contents, and bytes of them
}

func startUnhurried(t *testing.T) *unhurried {
	t.Helper()
	p := &unhurried{goOn: make(chan struct{})}
	p.Server = httptest.NewUnstartedServer(p)
	p.Listener = smallBuffers{p.Listener}
	p.Start()
	t.Cleanup(p.Close)
	return p
}

func (p *unhurried) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	into := io.Discard
	if strings.Contains(r.URL.Path, "/virtualMachines/") {
		p.begun.Add(1)
		<-p.goOn
		into = (*counting)(&p.read)
	}
	_, _ = io.Copy(into, r.Body) // as far as it comes
}

type counting atomic.Int64

func (c *counting) Write(p []byte) (int, error) {
	(*atomic.Int64)(c).Add(int64(len(p)))
	return len(p), nil
}

// smallBuffers keeps what the system takes for a reader that rests small, so
// that most of a large content stays with its sender.
type smallBuffers struct{ net.Listener }

func (l smallBuffers) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok {
		err = tcp.SetReadBuffer(512 << 10)
	}
	return c, err
}

// A gateway that was stopped in the middle of a content, and continued when the
// intent had ended, sends nothing more of it: the provider would act on it when
// the outcome is long taken for known.
func TestStoppedInMidContent(t *testing.T) {
	t.Parallel()
	const (
		puts = 8
		size = 8 << 20 // more than the system's buffers take
		ends = 10 * time.Second
	)
	provider := startUnhurried(t)
	goOn := sync.OnceFunc(func() { close(provider.goOn) })
	defer goOn()
	gateway := harness.StartPortico(t, harness.Config{
		Endpoints: map[string]string{"westus": provider.URL, "global": provider.URL},
		Extra: "limits: {requestBody: 16MiB, contentMemory: 256MiB}\n" +
			"upstream: {callTimeout: 9s}\nindex: {sendWithin: 9s, callMargin: 1s, askTimeout: 1s}\n", // together: ends
	})
	group := "/subscriptions/" + harness.SubscriptionID + "/resourceGroups/rg"
	gateway.Do(t, harness.Request{Method: http.MethodPut, Path: group + "?api-version=2021-04-01", Body: `{"location":"westus"}`}).Want(t, 200, 201)

	content := `{"location":"westus","properties":{"text":"` + strings.Repeat("x", size) + `"}}`
	var calls sync.WaitGroup
	var answered atomic.Int64
	for i := range puts {
		calls.Go(func() {
			defer answered.Add(1)
			answer, err := gateway.Try(t.Context(), harness.Request{
				Method: http.MethodPut, Body: content,
				Path: group + "/providers/Contoso.Compute/virtualMachines/vm" + strconv.Itoa(i) + "?api-version=" + harness.Version,
			})
			if err != nil || answer.Status < 500 {
				t.Errorf("got %d %s, %v", answer.Status, answer.Body, err)
			}
		})
	}
	soon(t, "every write has begun, or come to its end", func() bool { return provider.begun.Load()+answered.Load() >= puts })
	gateway.Pause(t)
	time.Sleep(ends)
	goOn()
	inTime := int64(-1)
	soon(t, "what had left has arrived", func() bool {
		before := inTime
		time.Sleep(time.Second)
		inTime = provider.read.Load()
		return inTime == before
	})
	gateway.Resume(t)
	calls.Wait()
	provider.Close() // when everything is read to its end
	if inTime == 0 || inTime >= puts*size {
		t.Fatalf("%d bytes left before the gateway was stopped: nothing is tested", inTime)
	}
	if late := provider.read.Load() - inTime; late > 0 {
		t.Errorf("%d bytes left when their intents had ended, %d before", late, inTime)
	}
}
