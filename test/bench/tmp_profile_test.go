package bench
import ("testing";"net/http";"io";"os";"time")
func BenchmarkTmpProfile(b *testing.B) {
	c := newCloud(b, 8, 0)
	c.holds(1<<20, 1)
	c.get(b, c.portico.URL+listPath)
	done := make(chan struct{})
	go func() {
		defer close(done)
		r, err := http.Get(c.portico.AdminURL+"/debug/pprof/profile?seconds=6")
		if err != nil { b.Error(err); return }
		text, _ := io.ReadAll(r.Body); r.Body.Close()
		os.WriteFile("/tmp/f-list.prof", text, 0o600)
	}()
	for b.Loop() {
		end := time.Now().Add(6500*time.Millisecond)
		for time.Now().Before(end) { c.get(b, c.portico.URL+listPath) }
	}
	<-done
}
