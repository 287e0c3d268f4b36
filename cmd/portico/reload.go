package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"portico/config"
	"portico/fanout"
	"portico/gateway/admin"
	"portico/gateway/observe"
	"portico/inventory"
	"portico/jobs/webhook"
)

// material is everything made from a configuration before any of it takes effect.
type material struct {
	config             *config.Config
	pair               *tls.Certificate
	upstreamIdentities upstreamIdentities
	collector          collectorAccess
	access             signIn
	keys               *fanout.Keys
	sinks              []*webhook.Sink
}

// reload reads the configuration again, makes all its parts, and then replaces the former
// configuration; an error changes nothing. Only one reload runs at a time. It also
// reopens the file of audit lines, whether or not the configuration is accepted, because
// a tool that rotates the file signals the gateway that way.
func (s *service) reload(ctx context.Context, why string) (admin.Reloaded, error) {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	if s.audit != nil {
		if err := s.audit.Reopen(); err != nil {
			s.log.Error("the audit file could not be reopened, and lines go to the previous file, or the previous file could not be closed",
				zap.Error(err))
		}
	}
	next, sources, err := config.LoadSources(s.path)
	s.sources = sources
	var reloaded admin.Reloaded
	if err == nil {
		reloaded, err = s.replaceConfig(ctx, next, why)
	}
	s.unfinished = errors.Is(err, inventory.ErrUnavailable)
	removed := s.reportRemoved()
	if err != nil {
		s.configMetrics.Refused(time.Now())
		s.generations.RecordRefused(config.HistoryEntry{Time: time.Now(), Why: why, By: observe.TokenName(ctx)}, err)
		s.log.Error("the configuration was refused; the one before stays in use", zap.String("why", why), zap.Int64("generation", s.generation),
			zap.Int("removedCredentials", removed), zap.Error(err))
		return admin.Reloaded{}, err
	}
	s.log.Info("configuration in use", zap.String("why", why), zap.Int64("generation", s.generation), zap.Strings("needsRestart", reloaded.NeedsRestart))
	return reloaded, nil
}

// reportRemoved reports credentials that are no longer in the configuration's file but
// are still accepted, because the file was refused or the change needs a restart.
func (s *service) reportRemoved() int {
	removed := config.CountRemovedCredentials(s.config.Load(), s.authorities, s.path)
	s.configMetrics.Removed(removed)
	s.removedReported = time.Time{}
	if removed > 0 {
		s.removedReported = time.Now()
		s.log.Error("credentials that were removed from the configuration are still accepted, until a configuration without them is accepted, or "+
			"this gateway is restarted",
			zap.Int("credentials", removed))
	}
	return removed
}

// repeatRemoved repeats that report each minute: the first one may be overlooked.
func (s *service) repeatRemoved(now time.Time) {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	if at := s.removedReported; !at.IsZero() && now.Sub(at) >= time.Minute {
		s.reportRemoved()
	}
}

// replaceConfig replaces the configuration by a checked one; why is the trigger of the
// reload.
func (s *service) replaceConfig(ctx context.Context, next *config.Config, why string) (admin.Reloaded, error) {
	before := s.live.Gateway()
	old := s.config.Load()
	effective, restart := config.MergeForReload(old, next)
	m, err := s.prepare(ctx, effective)
	if err != nil {
		return admin.Reloaded{}, err
	}
	for _, w := range next.Warnings {
		s.log.Warn("configuration: " + w.Error())
	}
	if m.pair != nil {
		s.certificate.use(m.pair, m.access.authorities)
	}
	s.authorities = m.access.authorities
	m.access.keys.Use()
	s.upstream.UseIdentities(m.upstreamIdentities.identities)
	s.live.Replace(before.Succeed(m.config, m.access.authenticator, m.keys, m.sinks))
	s.upstream.UseMap(m.config.Map, healthOf(m.config.Health))
	s.config.Store(m.config)
	s.traces.use(m.config, m.collector)
	s.upstreamIdentities, s.collector = m.upstreamIdentities, m.collector
	s.generation++
	s.configMetrics.Loaded(s.generation, time.Now())
	s.generations.RecordApplied(config.HistoryEntry{
		Number: s.generation, Time: time.Now(), Why: why, By: observe.TokenName(ctx), NeedsRestart: restart,
	}, old, m.config)
	s.showCertificates(m)
	return admin.Reloaded{Generation: s.generation, NeedsRestart: restart}, nil
}

// prepare makes the parts that can fail. Subscriptions and the positions of sinks come
// last, because they stay even if the reload fails.
func (s *service) prepare(ctx context.Context, c *config.Config) (m material, err error) {
	m.config = c
	if m.pair, err = serverPair(c.Server.TLS); err != nil {
		return m, err
	}
	if m.upstreamIdentities, err = readUpstreamIdentities(c, s.upstreamIdentities); err != nil {
		return m, err
	}
	if m.sinks, err = readSinks(c.Events.Sinks); err != nil {
		return m, err
	}
	if m.collector, err = readCollectorAccess(c.Tracing, s.collector); err != nil {
		return m, err
	}
	if m.access, err = s.signIn(c); err != nil {
		return m, err
	}
	if m.keys, err = tokenKeys(ctx, c, s.store.Secrets); err != nil {
		return m, err
	}
	if err = seed(ctx, c, s.store); err != nil {
		return m, fmt.Errorf("seed the subscriptions: %w", err)
	}
	return m, beginSinks(ctx, s.store, m.sinks)
}

// followChanges reloads at SIGHUP, and when the configuration's files have changed and
// stayed unchanged for an interval, until ctx ends. A reload that failed only because the
// store did not answer is repeated when it does.
func (s *service) followChanges(ctx context.Context) {
	var seen config.Sources // at the previous check
	looked := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.hangups:
			_, _ = s.reload(ctx, "SIGHUP") // reload logs it
			continue
		case <-timer.C:
		}
		interval := s.config.Load().Server.WatchInterval
		if interval > 0 && time.Since(looked) >= interval {
			now, changed := s.changed()
			if changed && now.Same(seen) {
				_, _ = s.reload(ctx, "files have changed") // reload logs it
			}
			seen, looked = now, time.Now()
		}
		if s.due(ctx) {
			_, _ = s.reload(ctx, "the store answers again") // reload logs it
		}
		s.repeatRemoved(time.Now())
		timer.Reset(watchPause(interval))
	}
}

// longestWatchPause bounds how long a changed interval can go unnoticed.
const longestWatchPause = time.Second

func watchPause(interval time.Duration) time.Duration {
	if interval <= 0 {
		return longestWatchPause
	}
	return min(interval, longestWatchPause)
}

// due reports whether the last reload is to be repeated, and the store answers.
func (s *service) due(ctx context.Context) bool {
	s.reloading.Lock()
	unfinished := s.unfinished
	s.reloading.Unlock()
	return unfinished && s.store.Ready(ctx) == nil
}

// changed reports whether the files of the latest configuration, accepted or not, have
// changed.
func (s *service) changed() (now config.Sources, changed bool) {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	now = s.sources.Now()
	return now, !now.Same(s.sources)
}
