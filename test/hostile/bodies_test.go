package hostile

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"portico/test/harness"
)

const bodySize = 4 << 20 // the default of limits.requestBody

// filled is a body of the full size: begin, as many repetitions of each as fit, and
// end.
func filled(begin, each, end string) string {
	n := (bodySize - len(begin) - len(end)) / len(each)
	return begin + strings.TrimSuffix(strings.Repeat(each, n), ",") + end
}

// numbered is filled with members of different names.
func numbered(begin, each, end string) string {
	var b strings.Builder
	b.Grow(bodySize)
	b.WriteString(begin)
	for i := 0; b.Len()+len(each)+len(end)+16 < bodySize; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, each, i)
	}
	b.WriteString(end)
	return b.String()
}

// No form of a body makes Portico use many times its size: four at a time are refused,
// each for its own excess, while good requests are served.
func TestNoBodyCostsMuchMoreThanItself(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the peak of a process's memory is read from /proc")
	}
	w := newWorld(t, options{Environment: tight})
	group := w.group(t, "rg")
	thing := w.thing("rg", "good")
	w.put(t, thing)
	const (
		own   = "?api-version=2021-04-01"
		batch = "/batch?api-version=2020-06-01"
		one   = `{"httpMethod":"GET","url":"/subscriptions/` + ours + own + `"`
	)
	tags := group + "/providers/Microsoft.Resources/tags/default" + own
	lock := group + "/providers/Microsoft.Authorization/locks/l?api-version=2016-09-01"
	move := group + "/moveResources" + own
	before := peak(t, w.Portico.Pid())
	for _, c := range []struct{ name, method, path, body, want, says string }{
		{"empty requests", "POST", batch, filled(`{"requests":[`, `{},`, `]}`), "400 InvalidRequestContent requests", "and may hold 500"},
		{"headers", "POST", batch, numbered(`{"requests":[`+one+`,"headers":{`, `"h%d":""`, `}}]}`), "200", "100 headers"},
		{"values of a header", "POST", batch, filled(`{"requests":[`+one+`,"headers":{"a":[`, `"",`, `]}}]}`), "200", "100 headers"},
		{"a target of spaces", "POST", batch, filled(`{"requests":[{"httpMethod":"GET","url":"/`, ` `, `"}]}`), "200", "too long"},
		{"a deep batch", "POST", batch, filled(`{"requests":`, `[`, ``), "400 InvalidRequestContent", "512 levels"},

		{"moved resources", "POST", move, filled(`{"targetResourceGroup":"/subscriptions/`+ours+`/resourceGroups/to","resources":[`, `"",`, `]}`), "400 InvalidRequestContent resources", "and may hold 2000"},
		{"a long target", "POST", move, filled(`{"resources":["a"],"targetResourceGroup":"`, `<`, `"}`), "400 LinkedInvalidPropertyId targetResourceGroup", ""},

		{"tags of a scope", "PUT", tags, numbered(`{"properties":{"tags":{`, `"%d":""`, `}}}`), "400 InvalidRequestContent properties.tags", "and may hold 2000"},

		{"members of a lock", "PUT", lock, filled(`{"properties":{`, `"level":1,`, `}}`), "400 InvalidRequestContent properties", "and may hold 100"},

		{"tags of a group", "PUT", group + own, numbered(`{"location":"westus","tags":{`, `"%d":""`, `}}`), "400 TagCountExceeded tags", "50"},

		{"tags", "PUT", thing + api, numbered(`{"location":"westus","tags":{`, `"%d":""`, `}}`), "400 TagCountExceeded tags", "50"},
		{"a long location", "PUT", thing + api, filled(`{"location":"`, `<`, `"}`), "400 InvalidRequestContent location", "and may have 1024"},
		{"a fault behind a long name", "PUT", thing + api, filled(`{"`, `\u0001`, `":x}`), "400 InvalidRequestContent", "where a value should stand"},
	} {
		if len(c.body) > bodySize || len(c.body) < bodySize-8192 {
			t.Fatalf("%s: %d bytes", c.name, len(c.body))
		}
		var attack sync.WaitGroup
		for range 4 {
			attack.Go(func() {
				got := w.as(t, alice, c.method, c.path, c.body)
				if said := refusalOf(got); !strings.HasPrefix(said, c.want) || !strings.Contains(string(got.Body), c.says) || len(got.Body) > 64<<10 {
					t.Errorf("%s: %s, want %s: %.300s", c.name, said, c.want, got.Body)
				}
			})
		}
		w.as(t, carol, http.MethodGet, thing+api, "").Want(t, 200)
		w.as(t, carol, http.MethodPost, batch, `{"requests":[`+one+`}]}`).Want(t, 200)
		attack.Wait()
		// Four bodies, the buffers that they were read into, and uncollected garbage; not 150
		// times as much, as some of them took.
		if now := peak(t, w.Portico.Pid()); now > before+mostOfAttack {
			t.Fatalf("%s: the process held %d MiB at its peak, and %d MiB before", c.name, now>>20, before>>20)
		}
	}
	t.Logf("the process held %d MiB at its peak, and %d MiB before", peak(t, w.Portico.Pid())>>20, before>>20)
	w.as(t, alice, http.MethodPut, thing+api, located("westus")).Want(t, 200)
	w.as(t, alice, http.MethodPost, batch, `{"requests":[`+one+`,"headers":{"a":"1","b":["2","3"]}}]}`).Want(t, 200)
}

// tight has garbage collected before it hides what is needed: on a busy machine it
// would lie as long as the process is allowed to let it.
var tight = []string{"GOMEMLIMIT=128MiB"}

// mostOfAttack is what four bodies of 4 MiB may add to a process's peak memory, even if
// the race detector shadows each byte. Without bounds they took 600 MiB and more.
const mostOfAttack = 384 << 20

// refusalOf is an answer's status, and its error's code and target.
func refusalOf(a harness.Answer) string {
	var fault struct {
		Error struct{ Code, Target string }
	}
	_ = json.Unmarshal(a.Body, &fault) // a success has neither
	return strings.TrimSpace(strings.Join([]string{strconv.Itoa(a.Status), fault.Error.Code, fault.Error.Target}, " "))
}

// peak is a process's peak memory.
func peak(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	harness.OK(t, err)
	_, line, _ := strings.Cut(string(text), "VmHWM:")
	line, _, _ = strings.Cut(line, "kB")
	kilobytes, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	harness.OK(t, err)
	return kilobytes << 10
}
