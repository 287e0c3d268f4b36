package packaging

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"portico/test/harness"
)

// builder is buildah with a store of its own.
type builder struct{ folder string }

func (b builder) do(t *testing.T, args ...string) string {
	t.Helper()
	return command(t, "buildah", append([]string{"--root", b.folder + "/root", "--runroot", b.folder + "/run", "--storage-driver", "vfs"}, args...)...)
}

// image is how an image says that it is to be run.
type image struct {
	User            string
	Entrypoint, Cmd []string
	Healthcheck     struct{ Test []string }
}

// TestImageRuns builds the image by the Dockerfile, with buildah, and runs the program in
// its file system, which is read-only, as its user and without a privilege.
func TestImageRuns(t *testing.T) {
	b := builder{t.TempDir()}
	base(t, b)
	b.do(t, "bud", "--isolation", "chroot", "--format", "docker", "--file", "../../deploy/Dockerfile", "--build-arg", "GO_IMAGE=localhost/go:test", "--build-arg", "REVISION=0123abc", "--tag", "portico:test", "../..")
	var said struct{ Docker struct{ Config image } }
	harness.OK(t, json.Unmarshal([]byte(b.do(t, "inspect", "--type", "image", "portico:test")), &said))
	i := said.Docker.Config
	container := strings.TrimSpace(b.do(t, "from", "portico:test"))
	root := strings.TrimSpace(b.do(t, "mount", container))
	if owner, err := os.Stat(root + "/var/lib/portico"); err != nil || owner.Sys().(*syscall.Stat_t).Uid != 65532 {
		t.Errorf("the folder of the store is %+v: %v", owner, err)
	}
	if out, err := i.in(t, root, "/portico", "version").CombinedOutput(); err != nil || !strings.Contains(string(out), " 0123abc ") {
		t.Errorf("version: %v: %s", err, out)
	}
	if out, err := i.in(t, root, "/portico", "demo", "--data", "/demo").CombinedOutput(); err == nil || !strings.Contains(string(out), "read-only") {
		t.Errorf("it could write: %v: %s", err, out)
	}
	address, admin := harness.FreeAddress(t), harness.FreeAddress(t)
	config := strings.NewReplacer("127.0.0.1:8080", address, "127.0.0.1:8081", admin).Replace(read(t, "testdata/portico.yaml"))
	put(t, root+"/etc/portico/portico.yaml", config, 0o644)

	var log strings.Builder
	service := i.in(t, root, append(append([]string{}, i.Entrypoint...), i.Cmd...)...)
	service.Stderr = &log
	harness.OK(t, service.Start())
	ended := make(chan error, 1)
	go func() { ended <- service.Wait() }()
	if len(i.Healthcheck.Test) < 2 || i.Healthcheck.Test[0] != "CMD" {
		t.Fatalf("the health check is %v", i.Healthcheck)
	}
	harness.Await(t, bound, "the image's own health check", func() bool {
		return i.in(t, root, i.Healthcheck.Test[1:]...).Run() == nil
	})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/subscriptions?api-version=2022-12-01", http.NoBody)
	harness.OK(t, err)
	answer, err := http.DefaultClient.Do(r)
	harness.OK(t, err)
	if _ = answer.Body.Close(); answer.StatusCode != http.StatusOK {
		t.Errorf("it serves %d", answer.StatusCode)
	}
	http.DefaultClient.CloseIdleConnections()
	harness.OK(t, service.Process.Signal(syscall.SIGTERM))
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v\n%s", err, log.String())
	}
	demonstrates(t, i, root)
}

// demonstrates fails the test unless the image runs the demo, as the README has it, and
// the demo's console answers.
func demonstrates(t *testing.T, i image, root string) {
	t.Helper()
	address, admin := harness.FreeAddress(t), harness.FreeAddress(t)
	var log strings.Builder
	demo := i.in(t, root, "/portico", "demo", "--listen", address, "--admin", admin, "--data", "/var/lib/portico/portico-demo")
	demo.Stderr = &log
	harness.OK(t, demo.Start())
	harness.Await(t, bound, "the demo's console", func() bool {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+admin+"/", http.NoBody)
		harness.OK(t, err)
		answer, err := http.DefaultClient.Do(r)
		return err == nil && answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
	})
	http.DefaultClient.CloseIdleConnections()
	harness.OK(t, demo.Process.Signal(syscall.SIGTERM))
	if err := demo.Wait(); err != nil {
		t.Errorf("the demo ended with %v\n%s", err, log.String())
	}
}

// in is a command in an image's file system: read-only but for the volume of the store,
// as the image's user.
func (i image) in(t *testing.T, root string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	t.Cleanup(cancel)
	const enter = `mount --bind "$0" "$0"
mount --bind "$0/var/lib/portico" "$0/var/lib/portico"
mount -o remount,bind,ro "$0"
exec chroot --userspec="$1" --groups= "$0" "${@:2}"`
	cmd := exec.CommandContext(ctx, "unshare", append([]string{"--mount", "--propagation", "private", "bash", "-ec", enter, root, i.User}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")} // for what enters
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// base makes the image that the build begins with: a shell, a few tools, the roots that
// are trusted, and the programs in place of a compiler, which no registry is asked for.
func base(t *testing.T, b builder) {
	t.Helper()
	folder := t.TempDir()
	put(t, folder+"/base/bin/busybox", read(t, harness.Installed(t, "busybox")), 0o755)
	for _, tool := range []string{"sh", "mkdir", "cp", "chown"} {
		harness.OK(t, os.Symlink("busybox", folder+"/base/bin/"+tool))
	}
	put(t, folder+"/base/bin/go", read(t, "testdata/go.sh"), 0o755)
	put(t, folder+"/base/etc/ssl/certs/ca-certificates.crt", read(t, "/etc/ssl/certs/ca-certificates.crt"), 0o644)
	found := regexp.MustCompile(`CGO_ENABLED=0 go build -trimpath -ldflags="([^"]*)" `).FindStringSubmatch(read(t, "../../deploy/Dockerfile"))
	if found == nil {
		t.Fatal("no build in the Dockerfile")
	}
	harness.OK(t, os.MkdirAll(folder+"/base/built", 0o755))
	ctx, cancel := context.WithTimeout(t.Context(), 2*bound)
	defer cancel()
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags="+strings.ReplaceAll(found[1], "${REVISION}", "0123abc"),
		"-o", filepath.Join(folder, "base", "built")+"/", "../../cmd/portico", "../../cmd/contoso")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	put(t, folder+"/Dockerfile", "FROM scratch\nCOPY base /\n", 0o644)
	b.do(t, "bud", "--isolation", "chroot", "--file", folder+"/Dockerfile", "--tag", "localhost/go:test", folder)
}
