package bench

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/test/harness"
)

// plainMerger is the first argument of the peer's process.
const plainMerger = "merge-plainly"

// mergePlainly is what a Go program does that knows no better: it asks all
// addresses at once, decodes their pages, and encodes what it found.
func mergePlainly(addresses []string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%s: http://%s\n", plainMerger, listener.Addr())
	type page struct {
		Value []map[string]any `json:"value"`
	}
	server := http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pages := make([]page, len(addresses))
		var wait sync.WaitGroup
		for i, address := range addresses {
			wait.Go(func() {
				answer, err := http.Get(address + r.URL.RequestURI())
				if err != nil {
					return
				}
				defer answer.Body.Close()
				_ = json.NewDecoder(answer.Body).Decode(&pages[i])
			})
		}
		wait.Wait()
		var merged page
		for _, p := range pages {
			merged.Value = append(merged.Value, p.Value...)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(merged)
	})}
	_ = server.Serve(listener) // until it is killed
}

// startPlainMerger runs the peer before these addresses.
func startPlainMerger(b *testing.B, addresses []string) (url string, pid int) {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	p := harness.Start(b, plainMerger, b.TempDir(), self, append([]string{plainMerger}, addresses...)...)
	return strings.TrimPrefix(p.WaitLine(b, plainMerger+": "), plainMerger+": "), p.Pid()
}

// startNginx runs nginx before an address, with one worker; "" where there is no
// nginx.
func startNginx(b *testing.B, address string) (url string, pid int) {
	b.Helper()
	program, err := exec.LookPath("nginx")
	if err != nil {
		if program = "/usr/sbin/nginx"; !runs(program) {
			return "", 0
		}
	}
	folder, listen := b.TempDir(), harness.FreeAddress(b)
	file := filepath.Join(folder, "nginx.conf")
	text := fmt.Sprintf(`daemon off; master_process off; worker_processes 1; pid nginx.pid; error_log stderr crit;
events { worker_connections 256; }
http {
  access_log off; client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  upstream provider { server %s; keepalive 32; }
  server {
    listen %s;
    location / { proxy_pass http://provider; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_max_temp_file_size 0; }
  }
}
`, strings.TrimPrefix(address, "http://"), listen)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	p := harness.Start(b, "nginx", folder, program, "-p", folder, "-c", file)
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if c, err := net.Dial("tcp", listen); err == nil {
			c.Close()
			return "http://" + listen, p.Pid()
		}
		if p.Ended() || time.Now().After(end) {
			b.Fatalf("nginx does not serve: %s", p.Stderr())
		}
	}
}

func runs(program string) bool {
	info, err := os.Stat(program)
	return err == nil && info.Mode()&0o111 != 0
}

// cpu is the processor time that a process has used so far.
func cpu(b *testing.B, pid int) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Skipf("processor time is read from /proc: %v", err)
	}
	// The name, in parentheses, may hold anything; user and system time are the
	// 12th and 13th field behind it, in hundredths of a second.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// forgetPeak has the kernel measure a process's peak of memory anew; peak is the
// peak since then, in bytes.
func forgetPeak(b *testing.B, pid int) {
	b.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0o600); err != nil {
		b.Skipf("the peak of memory cannot be measured anew: %v", err)
	}
}

func peak(b *testing.B, pid int) float64 {
	b.Helper()
	return memoryOf(b, pid, "VmHWM:")
}

// resident is the memory that a process holds, in bytes.
func resident(b *testing.B, pid int) float64 {
	b.Helper()
	return memoryOf(b, pid, "VmRSS:")
}

func memoryOf(b *testing.B, pid int, line string) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Skipf("memory is read from /proc: %v", err)
	}
	for found := range strings.Lines(string(text)) {
		if rest, is := strings.CutPrefix(found, line); is {
			kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			if err != nil {
				b.Fatal(err)
			}
			return kb * 1024
		}
	}
	b.Fatal("no " + line)
	return 0
}
