package clients

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"portico/test/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// What the authority of these tests knows: an application, which signs in with a
// secret, and the same one as the identity of a machine.
const (
	clientID     = "00000000-0000-0000-0000-0000000000c1"
	clientSecret = "a-secret-of-the-application"
	objectID     = "00000000-0000-0000-0000-0000000000b1"
	audience     = "https://management.example/"
)

// runBound is how long a program of these tests may run: they start slowly.
const runBound = 3 * time.Minute

// stand is a world behind TLS, with an authority that clients sign in at.
type stand struct {
	*harness.World
	// Authority is its base URL, without a final slash. Clients get tokens of an
	// application at /{tenant}/oauth2/v2.0/token, /{tenant}/oauth2/token and
	// /adfs/oauth2/token, and those of a managed identity at /msi/token.
	Authority string
	// Bundle is a file of PEM with the certificates to trust.
	Bundle string
	// Token is what all these endpoints hand out.
	Token string
}

// newStand starts a stand that lasts until the test ends.
func newStand(t *testing.T, options harness.WorldOptions) stand {
	t.Helper()
	s := stand{Token: tokenOf(t), Bundle: filepath.Join(t.TempDir(), "trusted.pem")}
	authority := httptest.NewTLSServer(authorityOf(s.Token))
	t.Cleanup(authority.Close)
	s.Authority = authority.URL
	options.Config.TLS = true
	options.Config.LoginEndpoint = s.Authority
	if !strings.Contains(options.Config.Extra, "operations:") {
		options.Config.Extra += "\noperations: {firstAnswer: 2s}\n" // as services have it
	}
	options.Config.Tokens = append([]harness.Token{{
		Raw: s.Token, TenantID: harness.TenantID, ObjectID: objectID, Name: "application@contoso.example",
	}}, options.Config.Tokens...)
	s.World = harness.NewWorld(t, options)

	trusted, err := os.ReadFile(s.Portico.AuthorityFile)
	harness.OK(t, err)
	trusted = append(trusted, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.Certificate().Raw})...)
	harness.OK(t, os.WriteFile(s.Bundle, trusted, 0o600))
	return s
}

// tokenOf is the application's token. It has the form of a JWT, as clients look
// into it; its signature is no one's, as Portico knows tokens by their hash.
func tokenOf(t *testing.T) string {
	t.Helper()
	now := time.Now()
	var parts [2]string
	for i, part := range []map[string]any{
		{"typ": "JWT", "alg": "RS256"},
		{
			"aud": audience, "iss": "https://login.example/" + harness.TenantID + "/", "tid": harness.TenantID,
			"oid": objectID, "sub": objectID, "appid": clientID, "idtyp": "app", "ver": "1.0",
			"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(24 * time.Hour).Unix(),
		},
	} {
		encoded, err := json.Marshal(part)
		harness.OK(t, err)
		parts[i] = base64.RawURLEncoding.EncodeToString(encoded)
	}
	return parts[0] + "." + parts[1] + "." + base64.RawURLEncoding.EncodeToString([]byte("nobody's signature"))
}

// authorityOf answers as Microsoft Entra ID, its directory, AD FS and the endpoint of managed
// identities do, as far as clients ask before they call Portico.
func authorityOf(token string) http.Handler {
	life := 24 * time.Hour
	grant := func(w http.ResponseWriter) {
		reply(w, http.StatusOK, map[string]any{
			"token_type": "Bearer", "access_token": token, "resource": audience, "client_id": clientID,
			"expires_in": int(life.Seconds()), "expires_on": strconv.FormatInt(time.Now().Add(life).Unix(), 10),
		})
	}
	application := func(w http.ResponseWriter, r *http.Request) {
		id, secret, basic := r.BasicAuth()
		if !basic {
			id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
		}
		if id != clientID || secret != clientSecret || r.PostFormValue("grant_type") != "client_credentials" {
			reply(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client", "error_description": "not the application that this authority knows"})
			return
		}
		grant(w)
	}
	configuration := func(w http.ResponseWriter, r *http.Request) {
		base := "https://" + r.Host + "/" + r.PathValue("tenant")
		tokens := base + "/oauth2/v2.0/token"
		if r.PathValue("tenant") == "adfs" {
			tokens = base + "/oauth2/token"
		}
		reply(w, http.StatusOK, map[string]any{
			"issuer": base, "authorization_endpoint": base + "/oauth2/v2.0/authorize", "token_endpoint": tokens,
		})
	}
	m := http.NewServeMux()
	m.HandleFunc("/msi/token", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Metadata") != "true" {
			reply(w, http.StatusBadRequest, map[string]any{"error": "invalid_request", "error_description": "the header Metadata is missing"})
			return
		}
		grant(w)
	})
	// The directory shows no one to an application, as it does without a permission.
	refuse := func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusForbidden, map[string]any{"error": map[string]any{"code": "Authorization_RequestDenied", "message": "Insufficient privileges to complete the operation."}})
	}
	m.HandleFunc("GET /v1.0/{kind}", refuse)
	m.HandleFunc("POST /v1.0/directoryObjects/getByIds", refuse)
	m.HandleFunc("POST /{tenant}/oauth2/v2.0/token", application)
	m.HandleFunc("POST /{tenant}/oauth2/token", application)
	m.HandleFunc("GET /{tenant}/.well-known/openid-configuration", configuration)
	m.HandleFunc("GET /{tenant}/v2.0/.well-known/openid-configuration", configuration)
	return m
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a client that has gone needs no answer
}

// outcome is what a program said.
type outcome struct {
	Code           int
	Stdout, Stderr string
}

// environment is that of a program, with variables added. Of proxies it is told nothing:
// all that it may call is on loopback.
func environment(more []string) (variables []string) {
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if !strings.HasSuffix(strings.ToUpper(name), "_PROXY") {
			variables = append(variables, variable)
		}
	}
	return append(variables, more...)
}

// run runs a program in a folder, with variables added to its environment, and
// waits for its end.
func run(t *testing.T, dir string, env []string, program string, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), runBound)
	defer cancel()
	command := exec.CommandContext(ctx, program, args...)
	command.WaitDelay = 10 * time.Second
	command.Dir, command.Env = dir, environment(env)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || ctx.Err() != nil) {
		t.Fatalf("%s %s: %v, %v\n%s\n%s", program, strings.Join(args, " "), err, ctx.Err(), stdout.String(), stderr.String())
	}
	return outcome{command.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}
