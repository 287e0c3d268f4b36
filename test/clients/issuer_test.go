package clients

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"portico/test/harness"
)

// startIssuer runs the issuer. Nothing is left out here for want of it: prepare.sh
// installs it.
func startIssuer(t *testing.T, path string) *harness.OIDCProvider {
	t.Helper()
	if missing := harness.OIDCProviderMissing(t); missing != "" {
		t.Fatal(missing)
	}
	return harness.StartOIDCProvider(t, path)
}

// withIssuer is a stand at which clients sign in at an issuer by somebody else, whose
// application and whose user have the same object id, and own everything.
func withIssuer(t *testing.T, issuer *harness.OIDCProvider, options harness.WorldOptions) stand {
	t.Helper()
	s := stand{Authority: issuer.Authority, Bundle: filepath.Join(t.TempDir(), "trusted.pem")}
	options.Config.TLS = true
	options.Config.LoginEndpoint = issuer.Authority + "/" // as people write it
	options.Config.Auth = issuer.Auth()
	options.Config.Owners = []string{harness.IssuedTo}
	s.World = harness.NewWorld(t, options)
	var trusted []byte
	for _, file := range []string{s.Portico.AuthorityFile, issuer.Certificate.AuthorityFile} {
		text, err := os.ReadFile(file)
		harness.OK(t, err)
		trusted = append(trusted, text...)
	}
	harness.OK(t, os.WriteFile(s.Bundle, trusted, 0o600))
	return s
}

// azureAt is the az CLI that knows a stand as its cloud, and has not signed in.
func azureAt(t *testing.T, s stand) azure {
	t.Helper()
	c := azure{stand: s, program: harness.Installed(t, "az"), dir: t.TempDir()}
	c.register(t)
	return c
}

func TestAzSignsInAtAnIssuer(t *testing.T) {
	t.Parallel()
	issuer := startIssuer(t, harness.Alone)
	s := withIssuer(t, issuer, harness.WorldOptions{})
	works := func(t *testing.T, c azure, group string) {
		t.Helper()
		c.play(t,
			step{command: `account list --query [].[name,id,state]`, prints: `[["Demo","` + harness.SubscriptionID + `","Enabled"]]`},
			step{command: `group create -n ` + group + ` -l westus --query name`, prints: `"` + group + `"`},
		)
	}
	t.Run("as an application", func(t *testing.T) {
		t.Parallel()
		c := azureAt(t, s)
		c.do(t, "login", "--service-principal", "--username", harness.IssuedToApp, "--password", harness.ClientSecret, "--tenant", "adfs")
		works(t, c, "application")
	})
	t.Run("as a person, by a code", func(t *testing.T) {
		t.Parallel()
		c := azureAt(t, s)
		c.loginByCode(t, issuer)
		works(t, c, "person")
	})
}

var codeShown = regexp.MustCompile(`open the page (\S+) and enter the code (\S+) to authenticate`)

// loginByCode signs in as a person does who reads a code in a terminal and enters it in a
// browser.
func (c azure) loginByCode(t *testing.T, issuer *harness.OIDCProvider) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), runBound)
	defer cancel()
	command := exec.CommandContext(ctx, c.program, "login", "--use-device-code", "--tenant", "adfs", "--output", "json")
	command.Dir, command.Env = c.dir, environment(c.variables())
	said, err := command.StderrPipe()
	harness.OK(t, err)
	harness.OK(t, command.Start())
	var all strings.Builder
	for lines := bufio.NewScanner(said); lines.Scan(); {
		fmt.Fprintln(&all, lines.Text())
		if shown := codeShown.FindStringSubmatch(lines.Text()); shown != nil {
			enter(t, issuer, shown[1], shown[2])
		}
	}
	if err := command.Wait(); err != nil {
		t.Fatalf("az login --use-device-code: %v\n%s", err, all.String())
	}
}

var hidden = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)"`)

// enter is the browser: it opens the page for a code, confirms it, and signs in.
func enter(t *testing.T, issuer *harness.OIDCProvider, page, code string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	harness.OK(t, err)
	browser := &http.Client{Jar: jar, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: issuer.Certificate.Pool, MinVersion: tls.VersionTLS12}}}
	defer browser.CloseIdleConnections()
	form := url.Values{"user_code": {code}}
	request := func(method, content string) string {
		r, err := http.NewRequestWithContext(t.Context(), method, page, strings.NewReader(content))
		harness.OK(t, err)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		answer, err := browser.Do(r)
		harness.OK(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s %s: %d %v\n%s", method, page, answer.StatusCode, err, text)
		}
		return string(text)
	}
	fill := func(text string) string {
		for _, field := range hidden.FindAllStringSubmatch(text, -1) {
			form.Set(field[1], field[2])
		}
		return form.Encode()
	}
	text := request(http.MethodGet, "")         // the form for a code
	text = request(http.MethodPost, fill(text)) // asks whether it is the right one
	text = request(http.MethodPost, fill(text)) // it is: the issuer signs the user in
	if !strings.Contains(text, "Sign-in Success") {
		t.Fatalf("the code was not accepted:\n%s", text)
	}
}

// Terraform gets its token as an application at the issuer of a tenant.
func TestTerraformSignsInAtAnIssuer(t *testing.T) {
	t.Parallel()
	issuer := startIssuer(t, harness.ForTenant)
	s := withIssuer(t, issuer, harness.WorldOptions{Config: harness.Config{Metadata: terraformCloud}})
	c := terraformAt(t, s, harness.IssuedToApp, harness.ClientSecret)
	dir := configuration(t, fmt.Sprintf(terraformProvider, "")+`
resource "azurerm_resource_group" "rg" {
  name     = "Signed-In"
  location = "westus"
}
data "azurerm_client_config" "me" {}
output "me" { value = data.azurerm_client_config.me.object_id }
`)
	c.apply(t, dir)
	if got := c.outputs(t, dir)["me"]; got != harness.IssuedTo {
		t.Errorf("signed in as %v", got)
	}
	c.ends(t, dir, 0, "destroy", "-auto-approve")
}
