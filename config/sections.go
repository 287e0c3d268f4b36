package config

import (
	"portico/arm"
	"portico/regions"
)

// sectionNames are the keys of a configuration file, beside include.
func sectionNames() []string {
	return []string{
		"include", "server", "metadata", "auth", "store", "limits", "upstream", "health", "index", "jobs", "lists",
		"operations", "batch", "groupDelete", "move", "log", "regions", "providers", "subscriptions",
	}
}

// read makes a Config of a merged tree. It is complete only if nothing was
// reported. With disk, files that are named must be readable.
func read(r *report, tree *node, disk bool) *Config {
	c := Defaults()
	root := r.object(tree, "", sectionNames()...)
	files := fileReader{r, disk}

	server := readServer(root, &c.Server, files)
	readMetadata(root, &c.Metadata)
	auth := readAuth(root, &c.Auth)
	readStore(root, &c.Store)
	readLimits(root, &c.Limits)
	readUpstream(root, &c.Upstream, files)
	readHealth(root, &c.Health)
	readIndex(root, &c)
	readJobs(root, &c.Jobs)
	readLists(root, &c)
	readOperations(root, &c.Operations)
	readBatch(root, &c)
	readGroupDelete(root, &c.GroupDelete)
	readMove(root, &c.Move)
	readLog(root, &c.Log)
	c.Map = readMap(root)
	readSubscriptions(root, &c)

	checkAccess(server, auth, &c)
	if region := server.get("region"); region != nil && c.Server.Region != "" {
		checkRegion(r, region, "server.region", c.Server.Region, c.Map)
	}
	return &c
}

func readMetadata(root object, m *Metadata) {
	o := root.child("metadata", "name", "loginEndpoint", "graphEndpoint", "audiences", "tenant", "suffixes")
	set(o, "name", &m.Name, plainText())
	address := func(key string, into *string) {
		if u := readAddress(o, key, webURL, anyPath, "https://host[:port][/path], without query or credentials"); u != nil {
			*into = u.String()
		}
	}
	address("loginEndpoint", &m.LoginEndpoint)
	address("graphEndpoint", &m.GraphEndpoint)
	twice := o.r.distinct("metadata.audiences:")
	for _, n := range o.list("audiences") {
		if audience, ok := value(o.r, n, "metadata.audiences", plainText()); ok && twice.add(n, audience, audience) {
			m.Audiences = append(m.Audiences, audience)
		}
	}
	set(o, "tenant", &m.Tenant, tenantWord())
	suffixes := o.child("suffixes", "storage", "keyVaultDns")
	set(suffixes, "storage", &m.Suffixes.Storage, hostName())
	set(suffixes, "keyVaultDns", &m.Suffixes.KeyVault, hostName())
}

func readLimits(root object, l *Limits) {
	o := root.child("limits", "requestBody", "contentMemory", "callerShare", "answerBody", "tagsPerResource", "resourcesPerTypeAndGroup", "groupsPerSubscription")
	set(o, "requestBody", &l.RequestBody, size())
	set(o, "contentMemory", &l.ContentMemory, size())
	set(o, "callerShare", &l.CallerShare, part())
	if l.ContentMemory < l.RequestBody {
		o.r.fault(o.at("contentMemory", "requestBody"), "limits.contentMemory is less than limits.requestBody: a request could not have the body that it may",
			"at least limits.requestBody")
	} else {
		checkShare(root, o, *l, budget{"limits.contentMemory", l.ContentMemory}, budget{"limits.requestBody", l.RequestBody}, "contentMemory", "requestBody")
	}
	set(o, "answerBody", &l.AnswerBody, size())
	set(o, "tagsPerResource", &l.TagsPerResource, countTo(arm.MaxTags))
	set(o, "resourcesPerTypeAndGroup", &l.ResourcesPerTypeAndGroup, count())
	set(o, "groupsPerSubscription", &l.GroupsPerSubscription, count())
}

func readUpstream(root object, u *Upstream, files fileReader) {
	o := root.child("upstream", "callTimeout", "readsPerEndpoint", "callsPerEndpoint", "tls")
	set(o, "callTimeout", &u.CallTimeout, positive())
	set(o, "readsPerEndpoint", &u.ReadsPerEndpoint, count())
	set(o, "callsPerEndpoint", &u.CallsPerEndpoint, count())
	tls := o.child("tls", "ca", "cert", "key")
	u.TLS.CA = files.path(tls, "ca")
	u.TLS.Cert, u.TLS.Key = files.keyPair(tls)
}

func readIndex(root object, c *Config) {
	x := &c.Index
	o := root.child("index", "sendWithin", "callMargin", "lateWriteWindow", "tombstones", "askTimeout",
		"cacheTTL", "cacheEntries", "lostAfter", "followLimit", "followRecheck", "versionFallback", "pollFloor", "sweepInterval", "endpointAbsence")
	set(o, "sendWithin", &x.SendWithin, positive())
	set(o, "callMargin", &x.CallMargin, orZero())
	set(o, "lateWriteWindow", &x.LateWriteWindow, positive())
	set(o, "tombstones", &x.Tombstones, positive())
	set(o, "askTimeout", &x.AskTimeout, positive())
	set(o, "cacheTTL", &x.CacheTTL, orZero())
	set(o, "cacheEntries", &x.CacheEntries, count())
	set(o, "lostAfter", &x.LostAfter, positive())
	set(o, "followLimit", &x.FollowLimit, positive())
	set(o, "followRecheck", &x.FollowRecheck, positive())
	set(o, "versionFallback", &x.VersionFallback, positive())
	set(o, "pollFloor", &x.PollFloor, positive())
	set(o, "sweepInterval", &x.SweepInterval, orZero()) // none: never
	set(o, "endpointAbsence", &x.EndpointAbsence, positive())
	if end := c.Upstream.CallTimeout + x.CallMargin; x.SendWithin > end {
		// An intent must not end before its call may still be sent.
		o.r.fault(o.at("sendWithin"), "index.sendWithin is longer than upstream.callTimeout and index.callMargin together",
			"at most "+end.String())
	}
}

func readJobs(root object, j *Jobs) {
	o := root.child("jobs", "lease")
	set(o, "lease", &j.Lease, positive())
}

func readLists(root object, c *Config) {
	l := &c.Lists
	o := root.child("lists", "memory", "totalMemory", "onRegionFailure", "tokenKeys", "tokenLifetime")
	set(o, "memory", &l.Memory, size())
	set(o, "totalMemory", &l.TotalMemory, size())
	set(o, "onRegionFailure", &l.OnRegionFailure, enum(regions.RegionFailures()))
	set(o, "tokenLifetime", &l.TokenLifetime, positive())
	if l.Memory < c.Limits.AnswerBody {
		o.r.fault(o.at("memory"), "lists.memory is less than limits.answerBody: no region's page would fit",
			"at least limits.answerBody")
	}
	if l.TotalMemory < l.Memory {
		o.r.fault(o.at("totalMemory", "memory"), "lists.totalMemory is less than lists.memory: a list could not have what it may", "at least lists.memory")
	} else {
		checkShare(root, o, c.Limits, budget{"lists.totalMemory", l.TotalMemory}, budget{"lists.memory", l.Memory}, "totalMemory", "memory")
	}
	twice := o.r.distinct("lists.tokenKeys.id")
	for _, item := range o.children("tokenKeys", "id", "key") {
		var key TokenKey
		id := must(item, "id", &key.ID, identifier())
		if must(item, "key", &key.Key, key32()); id != nil && twice.add(id, key.ID, key.ID) {
			l.TokenKeys = append(l.TokenKeys, key)
		}
	}
}

func readOperations(root object, p *Operations) {
	o := root.child("operations", "retryAfterMin", "retryAfterMax", "records")
	set(o, "retryAfterMin", &p.RetryAfterMin, seconds())
	set(o, "retryAfterMax", &p.RetryAfterMax, seconds())
	set(o, "records", &p.Records, positive())
	if p.RetryAfterMin > p.RetryAfterMax {
		o.r.fault(o.at("retryAfterMin", "retryAfterMax"), "operations.retryAfterMin "+p.RetryAfterMin.String()+" is longer than retryAfterMax "+p.RetryAfterMax.String(),
			"retryAfterMin at most retryAfterMax")
	}
}

func readLog(root object, l *Log) {
	o := root.child("log", "audit", "slow", "oneIn")
	if n := set(o, "audit", &l.Audit, plainText()); n != nil && l.Audit != AuditStderr {
		l.Audit = relativeTo(n.file, l.Audit)
	}
	set(o, "slow", &l.Slow, orZero())
	classes := o.child("oneIn", LogClasses()...)
	for _, class := range LogClasses() {
		n := 1
		if set(classes, class, &n, count()) != nil {
			if l.OneIn == nil {
				l.OneIn = map[string]int{}
			}
			l.OneIn[class] = n
		}
	}
}

func readBatch(root object, c *Config) {
	b := &c.Batch
	o := root.child("batch", "immediate", "requests", "atOnce", "memory", "totalMemory", "perCaller")
	set(o, "immediate", &b.Immediate, count())
	set(o, "requests", &b.Requests, count())
	set(o, "atOnce", &b.AtOnce, count())
	set(o, "memory", &b.Memory, size())
	set(o, "totalMemory", &b.TotalMemory, size())
	set(o, "perCaller", &b.PerCaller, count())
	if b.Memory < c.Limits.AnswerBody {
		o.r.fault(o.at("memory"), "batch.memory is less than limits.answerBody: no answer would fit", "at least limits.answerBody")
	}
	if b.TotalMemory < b.Memory {
		o.r.fault(o.at("totalMemory", "memory"), "batch.totalMemory is less than batch.memory: a batch could not have what it may", "at least batch.memory")
	} else {
		checkShare(root, o, c.Limits, budget{"batch.totalMemory", b.TotalMemory}, budget{"batch.memory", b.Memory}, "totalMemory", "memory")
	}
	if b.Requests < b.Immediate {
		o.r.fault(o.at("requests"), "batch.requests is less than batch.immediate", "at least batch.immediate")
	}
}

func readGroupDelete(root object, g *GroupDelete) {
	o := root.child("groupDelete", "transientBudget", "limit", "perEndpoint", "perJob")
	set(o, "transientBudget", &g.TransientBudget, positive())
	set(o, "limit", &g.Limit, positive())
	set(o, "perEndpoint", &g.PerEndpoint, count())
	set(o, "perJob", &g.PerJob, count())
}

func readMove(root object, m *Move) {
	o := root.child("move", "transientBudget", "limit")
	set(o, "transientBudget", &m.TransientBudget, positive())
	set(o, "limit", &m.Limit, positive())
}

func readSubscriptions(root object, c *Config) {
	twice := root.r.distinct("subscription")
	for _, o := range root.children("subscriptions", "id", "tenantId", "displayName", "state", "covered", "offerId", "locationPlacementId", "registeredFeatures") {
		s := Subscription{State: "Enabled"}
		id := must(o, "id", &s.ID, guid())
		must(o, "tenantId", &s.TenantID, guid())
		s.DisplayName = s.ID
		set(o, "displayName", &s.DisplayName, plainText())
		set(o, "state", &s.State, oneOf("Enabled", "PastDue", "Warned", "Disabled", "Deleted"))
		set(o, "covered", &s.Covered, truth())
		set(o, "offerId", &s.OfferID, plainText())
		set(o, "locationPlacementId", &s.PlacementID, plainText())
		for _, n := range o.list("registeredFeatures") {
			if f, ok := value(root.r, n, "registeredFeatures", fullFeatureName()); ok {
				s.Features = append(s.Features, f)
			}
		}
		if id != nil && twice.add(id, s.ID, s.ID) {
			c.Subscriptions = append(c.Subscriptions, s)
		}
	}
}
