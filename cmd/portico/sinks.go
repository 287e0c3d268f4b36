package main

import (
	"context"
	"errors"
	"os"
	"strings"

	"portico/config"
	"portico/config/rule"
	"portico/internal/pemfile"
	"portico/inventory"
	"portico/jobs/webhook"
)

func readSinks(configured []config.Sink) ([]*webhook.Sink, error) {
	sinks := make([]*webhook.Sink, len(configured))
	for i, c := range configured {
		s := &webhook.Sink{Sink: c}
		if err := readSink(s, "sink "+c.Name); err != nil {
			return nil, err
		}
		sinks[i] = s
	}
	return sinks, nil
}

// beginSinks records where new sinks begin. It runs before readiness, and before a reload
// is answered, so that the receiver gets every later write.
func beginSinks(ctx context.Context, store *inventory.Store, sinks []*webhook.Sink) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	return webhook.Begin(ctx, store, sinks)
}

func readSink(s *webhook.Sink, setting string) (err error) {
	if s.Secret != nil {
		s.Secrets = append(s.Secrets, s.Secret)
	}
	if s.SecretFile != "" {
		more, err := readSecrets(s.SecretFile, setting+": secretFile")
		if err != nil {
			return err
		}
		s.Secrets = append(s.Secrets, more...)
	}
	if s.BearerFile != "" {
		if s.Bearer, err = readCredential(s.BearerFile, setting+": bearerFile"); err != nil {
			return err
		}
	}
	if s.CA != "" {
		if s.Authorities, err = pemfile.Pool(s.CA); err != nil {
			return config.Faults{fileFault(s.CA, setting+": ca", err)}
		}
	}
	return nil
}

// mostSecrets bounds how many secrets sign a message, as each adds to its headers.
const mostSecrets = 8

// readSecrets returns the secrets of a file, one a line.
func readSecrets(path, setting string) (secrets [][]byte, err error) {
	text, err := os.ReadFile(path)
	form := rule.WebhookSecret()
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		secret, ok := form.Parse(line)
		if !ok || len(secrets) == mostSecrets {
			err = errors.New("a line is not a webhook secret, or there are too many lines")
			break
		}
		secrets = append(secrets, secret)
	}
	if err == nil && len(secrets) == 0 {
		err = errors.New("it has no webhook secret")
	}
	if err != nil {
		fault := fileFault(path, setting, err)
		fault.Allowed = "a file with 1 to 8 lines of " + form.Allowed
		return nil, config.Faults{fault}
	}
	return secrets, nil
}
