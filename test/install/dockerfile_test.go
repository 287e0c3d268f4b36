package install

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/client/llb/sourceresolver"
	"github.com/moby/buildkit/frontend/dockerfile/dockerfile2llb"
	"github.com/moby/buildkit/frontend/dockerui"
	dockerspec "github.com/moby/docker-image-spec/specs-go/v1"
	"github.com/opencontainers/go-digest"

	"portico/test/harness"
)

// TestDockerfileIsClean runs the checks of docker build --check.
func TestDockerfileIsClean(t *testing.T) {
	if got := lintDockerfile(t, read(t, "deploy/Dockerfile")); len(got) > 0 {
		t.Errorf("findings: %v", got)
	}
}

// TestDockerfileChecksFind takes away the doubt that they find nothing at all.
func TestDockerfileChecksFind(t *testing.T) {
	text := string(read(t, "deploy/Dockerfile"))
	for _, c := range []struct{ old, new, rule string }{
		{"FROM scratch AS portico", "FROM scratch as portico", "FromAsCasing"},
		{`ENTRYPOINT ["/portico"]`, "ENTRYPOINT /portico", "JSONArgsRecommended"},
		{"EXPOSE 8080 8081", "ENV ADMIN_PASSWORD=x", "SecretsUsedInArgOrEnv"},
		{"WORKDIR /src", "WORKDIR src", "WorkdirRelativePath"},
		{"USER 65532:65532\nWORKDIR", "MAINTAINER me\nWORKDIR", "MaintainerDeprecated"},
		{"COPY --from=build /image /", "COPY --from=nowhere", "error"},
	} {
		changed := strings.Replace(text, c.old, c.new, 1)
		if changed == text {
			t.Fatalf("no %q in the Dockerfile", c.old)
		}
		if got := lintDockerfile(t, []byte(changed)); !slices.Contains(got, c.rule) {
			t.Errorf("%s: found %v", c.rule, got)
		}
	}
}

func TestImage(t *testing.T) {
	image := buildImage(t, "portico")
	if image.User != "65532:65532" || image.WorkingDir != "/var/lib/portico" {
		t.Errorf("it runs as %q in %q", image.User, image.WorkingDir)
	}
	if !slices.Equal(image.Entrypoint, []string{"/portico"}) || !slices.Equal(image.Cmd, []string{"serve", "--config", "/etc/portico/portico.yaml"}) {
		t.Errorf("it runs %q %q", image.Entrypoint, image.Cmd)
	}
	if h := image.Healthcheck; h == nil || !slices.Equal(h.Test, []string{"CMD", "/portico", "ready", "--config", "/etc/portico/portico.yaml"}) {
		t.Errorf("its health is asked for by %+v", h)
	}
	if _, ok := image.Volumes["/var/lib/portico"]; !ok || len(image.Volumes) != 1 {
		t.Errorf("volumes %v", image.Volumes)
	}
	for _, port := range []string{"8080/tcp", "8081/tcp"} {
		if _, ok := image.ExposedPorts[port]; !ok {
			t.Errorf("port %s is not exposed: %v", port, image.ExposedPorts)
		}
	}
	if contoso := buildImage(t, "contoso"); contoso.User != image.User || !slices.Equal(contoso.Entrypoint, []string{"/contoso"}) {
		t.Errorf("contoso runs %q as %q", contoso.Entrypoint, contoso.User)
	}
}

// TestImageHoldsTheProgramAlone looks at what the last stage is made of.
func TestImageHoldsTheProgramAlone(t *testing.T) {
	_, stage, _ := strings.Cut(string(read(t, "deploy/Dockerfile")), "FROM scratch AS portico")
	var from []string
	for line := range strings.Lines(stage) {
		if strings.HasPrefix(line, "COPY") || strings.HasPrefix(line, "ADD") || strings.HasPrefix(line, "RUN") {
			from = append(from, strings.TrimSpace(line))
		}
	}
	if want := []string{"COPY --from=build /image /", "COPY --from=build /out/portico /portico"}; !slices.Equal(from, want) {
		t.Errorf("the image is made of %q", from)
	}
}

// TestDockerfileBuildsWithOurGo wants the version that go.mod names, and the
// context that a build gets to hold what it needs.
func TestDockerfileBuildsWithOurGo(t *testing.T) {
	var version string
	for line := range strings.Lines(string(read(t, "go.mod"))) {
		if v, ok := strings.CutPrefix(line, "go "); ok {
			version = strings.TrimSpace(v)
		}
	}
	if want := "ARG GO_IMAGE=golang:" + version + "\n"; version == "" || !strings.Contains(string(read(t, "deploy/Dockerfile")), want) {
		t.Errorf("the Dockerfile has no %q", want)
	}
	for line := range strings.Lines(string(read(t, ".dockerignore"))) {
		for _, needed := range []string{"go.mod", "cmd", "config", "contoso"} {
			if strings.TrimSpace(line) == needed {
				t.Errorf(".dockerignore leaves out %s", needed)
			}
		}
	}
}

// TestImageSaysWhichBuildItIs builds the program as the Dockerfile does, without a
// repository, and asks it.
func TestImageSaysWhichBuildItIs(t *testing.T) {
	found := regexp.MustCompile(`go build -trimpath -ldflags="([^"]*)" `).FindSubmatch(read(t, "deploy/Dockerfile"))
	if found == nil {
		t.Fatal("no build in the Dockerfile")
	}
	program := filepath.Join(t.TempDir(), "portico")
	flags := strings.ReplaceAll(string(found[1]), "${REVISION}", "0123abc")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-C", root, "-trimpath", "-buildvcs=false", "-ldflags="+flags, "-o", program, "./cmd/portico").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.CommandContext(t.Context(), program, "version").CombinedOutput(); err != nil || !strings.Contains(string(out), " 0123abc ") {
		t.Errorf("%v: %s", err, out)
	}
}

func options(target string, text []byte) dockerfile2llb.ConvertOpt {
	source := llb.NewSourceMap(nil, "Dockerfile", "", text)
	source.Definition = &llb.Definition{}
	return dockerfile2llb.ConvertOpt{Config: dockerui.Config{Target: target}, MetaResolver: registry{}, SourceMap: source}
}

// lintDockerfile returns the names of the rules that a Dockerfile breaks, and the word
// error if it could not be built.
func lintDockerfile(t *testing.T, text []byte) []string {
	t.Helper()
	results, err := dockerfile2llb.DockerfileLint(t.Context(), text, options("", text))
	harness.OK(t, err)
	var rules []string
	for _, w := range results.Warnings {
		t.Logf("%s: %s", w.RuleName, w.Detail)
		rules = append(rules, w.RuleName)
	}
	if results.Error != nil {
		t.Log(results.Error.Message)
		rules = append(rules, "error")
	}
	return rules
}

// buildImage returns how the image of a stage would run.
func buildImage(t *testing.T, target string) dockerspec.DockerOCIImageConfig {
	t.Helper()
	text := read(t, "deploy/Dockerfile")
	result, err := dockerfile2llb.Dockerfile2LLB(t.Context(), text, options(target, text))
	harness.OK(t, err)
	return result.Image.Config
}

// registry knows the one image that the build begins with.
type registry struct{}

func (registry) ResolveImageConfig(_ context.Context, ref string, _ sourceresolver.Opt) (string, digest.Digest, []byte, error) {
	if !strings.Contains(ref, "/golang:") {
		return "", "", nil, errors.New("no image " + ref)
	}
	return ref, digest.FromString(ref), []byte(`{"architecture":"amd64","os":"linux","config":{"Env":["PATH=/usr/local/go/bin:/usr/bin:/bin"]}}`), nil
}
