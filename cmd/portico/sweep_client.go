package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"portico/operations/sweep"
)

const (
	// tokenVariable names the environment variable that may hold the admin
	// token. It is never an argument: those can be read by others.
	tokenVariable = "PORTICO_ADMIN_TOKEN" //nolint:gosec // the name of a variable

	adminTime    = 10 * time.Second // for one call
	adminBytes   = 4 << 20          // of one answer
	adminPace    = 250 * time.Millisecond
	adminAbsence = 30 * time.Second // of a service that is started anew
)

// adminClient calls the admin listener of a running service.
type adminClient struct {
	base, token string
	http        *http.Client
}

func newAdminClient(address, tokenFile string) (*adminClient, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	token := os.Getenv(tokenVariable)
	if tokenFile != "" {
		text, err := os.ReadFile(tokenFile)
		if err != nil {
			return nil, err
		}
		token = string(text)
	}
	return &adminClient{
		base: "http://" + net.JoinHostPort(host, port), token: strings.TrimSpace(token),
		http: &http.Client{Transport: &http.Transport{Proxy: nil}, Timeout: adminTime},
	}, nil
}

func (c *adminClient) close() { c.http.CloseIdleConnections() }

// adminAnswer is a refusal, or a job.
type adminAnswer struct {
	State    string       `json:"state"`
	Progress sweep.Report `json:"progress"`
	Error    struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// order orders a sweep, and returns the path of its job.
func (c *adminClient) order(ctx context.Context, order sweep.Order) (job string, err error) {
	body, err := json.Marshal(map[string]any{"dryRun": order.DryRun, "subscription": order.Subscription})
	if err != nil {
		return "", err
	}
	_, header, err := c.call(ctx, http.MethodPost, "/admin/sweeps", body, http.StatusAccepted)
	if err != nil {
		return "", err
	}
	if job = header.Get("Location"); !strings.HasPrefix(job, "/admin/jobs/") {
		return "", errors.New("the admin listener named no job")
	}
	return job, nil
}

// follow waits for the end of a job. Whoever gives up waiting does not end it.
func (c *adminClient) follow(ctx context.Context, job string, progress func(sweep.Report)) (sweep.Report, error) {
	heard := time.Now()
	for {
		a, _, err := c.call(ctx, http.MethodGet, job, nil, http.StatusOK)
		switch {
		case err == nil:
			heard = time.Now()
			progress(a.Progress)
		case ctx.Err() != nil:
			return a.Progress, fmt.Errorf("the sweep goes on, as %s%s", c.base, job)
		case time.Since(heard) > adminAbsence:
			return a.Progress, err
		}
		switch a.State {
		case "Done", "Failed":
			return a.Progress, nil
		case "Cancelled":
			return a.Progress, errors.New("the sweep was cancelled")
		}
		timer := time.NewTimer(adminPace)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

func (c *adminClient) call(ctx context.Context, method, path string, body []byte, want int) (a adminAnswer, header http.Header, err error) {
	header, err = c.exchange(ctx, method, path, body, want, &a)
	return a, header, err
}

// exchange makes one call, and reads its answer into what is given.
func (c *adminClient) exchange(ctx context.Context, method, path string, body []byte, want int, into any) (http.Header, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, adminBytes))
	if err != nil {
		return nil, err
	}
	if response.StatusCode == want {
		return response.Header, json.Unmarshal(text, into)
	}
	var refusal adminAnswer
	switch err := json.Unmarshal(text, &refusal); {
	case response.StatusCode == http.StatusUnauthorized:
		return nil, fmt.Errorf("the admin listener wants a token: set %s or --token-file", tokenVariable)
	case err == nil && refusal.Error.Code != "":
		return nil, fmt.Errorf("the admin listener answers %d, %s: %s", response.StatusCode, refusal.Error.Code, refusal.Error.Message)
	}
	return nil, fmt.Errorf("the admin listener answers %d", response.StatusCode)
}
