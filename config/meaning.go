package config

// meaning tells what a setting is for. The rest of what the reference says, a
// setting's kind, default and legal values, it takes from the reading itself;
// preset and allowed stand in place of that where one reading does not show
// the whole of it.
type meaning struct {
	path    string
	text    string // sentences in Markdown, which also read well without it
	preset  string // the default, in words
	allowed string
}

// meanings explains the settings of the gateway itself; mapMeanings those of
// the map.
func meanings() []meaning {
	return []meaning{
		{path: "include", text: "Other files of this configuration, relative to the file that includes them. Their lists append to this file's, their " +
			"sections join; a single value must not stand in two files. They may include others.", allowed: "paths, or patterns with *, ? and [a-z]"},

		{path: "server", text: "How the gateway itself is reached."},
		{path: "server.publicURL", text: "What clients dial. The `referer` header, polling URLs and the links of lists are built from it."},
		{path: "server.listen", text: "Where the public listener listens. Beyond loopback it needs `auth.mode: tokens`, and TLS or the word that something in front speaks it. " +
			"Port 0 lets the system choose."},
		{path: "server.admin", text: "Where the admin listener listens: metrics, health, profiles, subscriptions, jobs. Beyond loopback it needs `server.adminToken` or `server.adminTokens`."},
		{path: "server.region", text: "The region in which this gateway runs, one of `regions`. It is part of the routing id of every request."},
		{path: "server.tls", text: "TLS of the public listener: the files of its certificate and key, or the word `terminated` where something in front " +
			"of the gateway speaks TLS for it.", preset: "no TLS"},
		{path: "server.tls.cert", text: "The certificate, followed by those that lead to its root."},
		{path: "server.tls.key", text: "The certificate's private key."},
		{path: "server.connections", text: "How many connections the public listener has, and how long they stay. Where all are in use, one from an address " +
			"with few takes the place of the newest from the address with most."},
		{path: "server.connections.all", text: "How many there are at a time. Each takes some 40 KiB of memory, and a file of what the system allows the process."},
		{path: "server.connections.perAddress", text: "How many there are of one address at a time; IPv6 addresses count by their /64. Addresses of `server.trustedProxies` have no such " +
			"bound; behind a balancer that hides its clients' addresses and names them nowhere, set it to `server.connections.all`, which is the most."},
		{path: "server.connections.idle", text: "How long one stays without a request."},
		{path: "server.connections.idleUnauthenticated", text: "How long one stays without a request while none over it was authenticated: from its beginning, TLS and the headers " +
			"of the first request included, and after each answer."},
		{path: "server.trustedProxies", text: "The networks whose `X-Forwarded-For` counts; from anywhere else it is ignored. Their connections are not bounded by address.", preset: "none"},
		{path: "server.adminToken", text: "Who may use the admin listener. With a token, only `/healthz`, `/readyz` and `/metrics` answer without it.", preset: "none; loopback only"},
		{path: "server.adminToken.sha256", text: "The hash of the bearer token: `printf %s \"$TOKEN\" | sha256sum`."},
		{path: "server.adminToken.name", text: "How audit lines call whoever holds it."},
		{path: "server.adminTokens", text: "Further tokens of the admin listener, one for each who uses it, so that audit lines tell who did what.", preset: "none"},
		{path: "server.adminTokens.sha256", text: "The hash of the bearer token."},
		{path: "server.adminTokens.name", text: "How audit lines call whoever holds it; each name once."},
		{path: "server.adminHosts", text: "The host names by which the admin listener may be called, beside IP addresses and localhost. Others get 403, " +
			"so that no web page reaches it through a name of its own.", preset: "none"},
		{path: "server.drain", text: "How the gateway stops when it is told to."},
		{path: "server.drain.delay", text: "For this long it reports itself not ready and goes on as before, so that load balancers notice."},
		{path: "server.drain.limit", text: "For this long, after that, requests under way may finish; then they are cut off."},
		{path: "server.watchInterval", text: "How often the files of the configuration, and those of keys and certificates, are looked at. Once a change has stood still for " +
			"this long, it is taken over; `0s`: only at SIGHUP and `POST /admin/reload`."},

		{path: "metadata", text: "What `/metadata/endpoints` tells clients of this cloud."},
		{path: "metadata.name", text: "The name of the cloud."},
		{path: "metadata.loginEndpoint", text: "Where clients get their tokens."},
		{path: "metadata.graphEndpoint", text: "Where clients find the directory of users and applications (Microsoft Graph). Terraform's provider azurerm refuses a cloud without, and one without the two suffixes."},
		{path: "metadata.audiences", text: "The audiences that clients ask tokens for.", preset: "`server.publicURL` alone"},
		{path: "metadata.tenant", text: "The tenant that clients log in to unless they name one. Terraform takes a cloud with another than `common` for Azure Stack, which it refuses.", preset: "`common`"},
		{path: "metadata.suffixes", text: "How the host names of the cloud's other services end. Portico calls none of them."},
		{path: "metadata.suffixes.storage", text: "Those of storage accounts."},
		{path: "metadata.suffixes.keyVaultDns", text: "Those of key vaults."},

		{path: "auth", text: "Who may call."},
		{path: "auth.mode", text: "How callers are known. `none`: one fixed caller, and loopback listeners only. `tokens`: those who hold one of `auth.tokens`."},
		{path: "auth.tokens", text: "Bearer tokens, by their hashes, and whom each stands for.", preset: "none"},
		{path: "auth.tokens.sha256", text: "The hash of the token: `printf %s \"$TOKEN\" | sha256sum`. A token that is random and long cannot be guessed from it."},
		{path: "auth.tokens.tenantId", text: "The tenant of the caller, who sees the subscriptions of that tenant only."},
		{path: "auth.tokens.objectId", text: "The caller's object id; with the tenant it owns the operations that the caller begins."},
		{path: "auth.tokens.name", text: "The caller's name, as providers are told it."},
		{path: "auth.tokens.appId", text: "The id of the caller's application, as providers are told it."},

		{path: "store", text: "Where the gateway keeps what it remembers. It cannot change while the gateway runs."},
		{path: "store.driver", text: "`sqlite`: one file, used by one gateway. `postgres`: a database that several gateways share."},
		{path: "store.dsn", text: "The file, relative to the one in which this stands, or the database. A password that the name leaves out is taken from `PGPASSWORD` or `PGPASSFILE`.",
			preset: "`portico.db` for sqlite; required for postgres", allowed: "for sqlite the path of a database file, such as portico.db; " +
				"for postgres a URL such as postgres://user@host/database, or key=value pairs"},
		{path: "store.connections", text: "How many connections each gateway opens to PostgreSQL; a quarter of them writes. SQLite has no use for it."},

		{path: "limits", text: "Bounds on what clients and providers send, and on what there may be."},
		{path: "limits.requestBody", text: "The largest body of a request; a larger one is answered with 413. What a body holds is counted before it is read, so that it takes little more memory than its size."},
		{path: "limits.contentMemory", text: "What the bodies of all requests that are being answered may hold together; at least `limits.requestBody`. A request that finds no room is answered with 503."},
		{path: "limits.callerShare", text: "The part that one caller may hold of each budget that callers share: `limits.contentMemory`, `lists.totalMemory`, `batch.totalMemory`, `upstream.readsPerEndpoint`, `upstream.callsPerEndpoint`. What a caller asks for beyond it waits for a moment, then it is answered with 429. One body, list or batch as large as it may be has to fit a share. The gateway's own work has a share like any caller."},
		{path: "limits.answerBody", text: "The largest answer of a provider; a larger one becomes an error of the gateway."},
		{path: "limits.tagsPerResource", text: "The most tags on one resource or group."},
		{path: "limits.resourcesPerTypeAndGroup", text: "The most resources of one type in one group."},
		{path: "limits.groupsPerSubscription", text: "The most groups in one subscription."},

		{path: "upstream", text: "How providers are called."},
		{path: "upstream.callTimeout", text: "How long a provider may take for an answer; then the client gets 504."},
		{path: "upstream.readsPerEndpoint", text: "How many of the gateway's own reads one endpoint gets at a time: lists over several regions, and what the gateway asks by itself."},
		{path: "upstream.callsPerEndpoint", text: "How many other reads, and how many writes, one endpoint gets at a time. A call beyond them waits for up to 5 s, then it is answered with 503. Callers that wait are served in turn."},
		{path: "upstream.tls", text: "TLS towards providers."},
		{path: "upstream.tls.ca", text: "The authorities that providers' certificates must come from.", preset: "the system's"},
		{path: "upstream.tls.cert", text: "The gateway's own certificate, for providers that ask for one."},
		{path: "upstream.tls.key", text: "The private key of that certificate."},

		{path: "index", text: "The times by which the index of tracked resources is kept true."},
		{path: "index.sendWithin", text: "From the record of a write to the first byte of its call; a call that would leave later is not sent. At most `upstream.callTimeout` and `index.callMargin` together."},
		{path: "index.callMargin", text: "What is added to `upstream.callTimeout` until a call counts as ended; one that still sends its content then is broken off."},
		{path: "index.lateWriteWindow", text: "How long a provider may still act on a write that it has not answered."},
		{path: "index.tombstones", text: "How long a removed resource is remembered."},
		{path: "index.askTimeout", text: "For one question to a provider on a client's time; and how long the `PUT` of a lock waits for calls under way."},
		{path: "index.cacheTTL", text: "How long the location of a resource is taken from memory; `0s` turns that off."},
		{path: "index.cacheEntries", text: "How many locations are kept in memory, each about 250 bytes."},
		{path: "index.lostAfter", text: "For how long, and at least three times, Portico's own polls of an operation are answered 404 or 410 until it counts as lost. Providers that keep copies answer so for a while after they accepted a write."},
		{path: "index.followLimit", text: "For how long an operation is followed closely."},
		{path: "index.followRecheck", text: "How often it is looked at after that."},
		{path: "index.versionFallback", text: "After a provider has refused for this long what the gateway asks about a resource by itself (400 and the like), it asks with the newest api-version of the type instead of the one by which the resource was written."},
		{path: "index.pollFloor", text: "The least time between two polls of one operation, whatever its provider asks for."},
		{path: "index.sweepInterval", text: "How often index and providers are compared as a whole, once for all gateways; `0s`: never."},
		{path: "index.endpointAbsence", text: "How long a notice of a subscription waits for an endpoint that the region map lacks, as another gateway's map may have it. Then the erasing of a deleted subscription goes on without it; the endpoint is told when the map has its region again, whenever that is."},

		{path: "jobs", text: "How durable work is held."},
		{path: "jobs.lease", text: "For how long a gateway holds a piece of work that it does not renew; then another may take it."},

		{path: "lists", text: "How collections of several regions are answered."},
		{path: "lists.memory", text: "What one request may hold for pages of several regions; at least `limits.answerBody`."},
		{path: "lists.totalMemory", text: "The same for all requests together; at least `lists.memory`. A list that finds none is answered with 503."},
		{path: "lists.onRegionFailure", text: "What becomes of a list when a region fails. `fail`: it fails as a whole. `partial`: it goes out without that region, and says so."},
		{path: "lists.tokenKeys", text: "The keys of skip tokens: the first seals, all open. To change keys under way add the new one last, then move it to the front, " +
			"then drop the old one once `lists.tokenLifetime` has passed; each on all gateways.", preset: "one that is generated and kept in the store"},
		{path: "lists.tokenKeys.id", text: "The name of the key; part of every token that it seals."},
		{path: "lists.tokenKeys.key", text: "The key: `head -c 32 /dev/urandom | base64`."},
		{path: "lists.tokenLifetime", text: "From a page to the request for the next one; later ones are answered with 410."},

		{path: "operations", text: "How long-running operations appear to clients."},
		{path: "operations.retryAfterMin", text: "The least Retry-After of an operation, whatever its provider says."},
		{path: "operations.retryAfterMax", text: "The greatest Retry-After; not less than `operations.retryAfterMin`."},
		{path: "operations.records", text: "How long an operation is remembered; longer as long as it is polled."},

		{path: "groupDelete", text: "Bounds of the deletion of a resource group."},
		{path: "groupDelete.transientBudget", text: "For how long the passing failures of one resource (408, 429, 500) are retried."},
		{path: "groupDelete.limit", text: "For the whole; then the group is given back with what is left in it."},
		{path: "groupDelete.perEndpoint", text: "How many deletes are under way at one endpoint for one caller; for all callers together it is as many as this is the part `limits.callerShare` of."},
		{path: "groupDelete.perJob", text: "How many deletes are under way for one group."},

		{path: "health", text: "How the addresses of providers' endpoints are judged and probed."},
		{path: "health.slowStart", text: "For how long an address that returns gets less than its part; 0s: it does not."},
		{path: "health.probe", text: "Each address is asked from time to time whether it is well, by a connection of its own."},
		{path: "health.probe.path", text: "What a GET asks for, maybe with a query; an answer below 400 is good. Without a path a connection is made, and TLS begun where that is spoken.", preset: "none"},
		{path: "health.probe.interval", text: "Between two probes of an address; 0s: none are made."},
		{path: "health.probe.timeout", text: "Of one probe."},
		{path: "health.probe.unhealthyAfter", text: "After so many failures in a row an address gets no calls while others can have them."},
		{path: "health.probe.healthyAfter", text: "After so many successes in a row it has calls again."},
		{path: "health.circuit", text: "How an address is left alone to which no connection can be made. A region of which no address can be reached is answered with 503 at once."},
		{path: "health.circuit.failures", text: "After so many connections in a row that could not be made; 0: never."},
		{path: "health.circuit.open", text: "The time until the first trial."},
		{path: "health.circuit.longestOpen", text: "The time between two trials, which grows, at most."},
		{path: "health.ejection", text: "How an address is left out that fares worse than the others of its endpoint."},
		{path: "health.ejection.errors", text: "The share of calls that came to nothing or to a 5xx; 0%: any share will do."},
		{path: "health.ejection.slowerThan", text: "How many times slower than the median of the others it may be; 0: any."},
		{path: "health.ejection.calls", text: "How many calls within `window` there must be to judge by."},
		{path: "health.ejection.window", text: "How far back calls count."},
		{path: "health.ejection.time", text: "For how long, the first time. It grows with each time that follows soon."},
		{path: "health.ejection.longestTime", text: "For how long, at most."},
		{path: "health.ejection.most", text: "The share of an endpoint's addresses that may be left out at once."},

		{path: "move", text: "Bounds of a move of resources."},
		{path: "move.transientBudget", text: "For how long the passing failures of one provider's call (408, 429, 500) are retried."},
		{path: "move.limit", text: "For the whole; then no more calls begin. What a provider was told of by then is waited for."},

		{path: "log", text: "What is written of requests. All else goes to the standard error, from the level of `--log-level` on."},
		{path: "log.audit", text: "Where the lines of writes go, one for each: the word `stderr`, or a file, relative to the one that this stands in, to which they are added.", allowed: "stderr, or a path"},
		{path: "log.slow", text: "A request that took this long is written whatever `log.oneIn` says."},
		{path: "log.oneIn", text: "Of how many reads that went well one is written, by what they address. Errors and writes are always written."},
		{path: "log.oneIn.own", text: "What the gateway answers itself."},
		{path: "log.oneIn.none", text: "What is no route."},
		{path: "log.oneIn.instance", text: "A resource."},
		{path: "log.oneIn.collection", text: "A list of resources."},
		{path: "log.oneIn.below", text: "What lies below a resource and is none itself."},
		{path: "log.oneIn.provider", text: "What belongs to a provider as a whole."},
		{path: "log.oneIn.located", text: "What belongs to a provider in one region."},
		{path: "log.oneIn.poll", text: "Polls of operations."},

		{path: "batch", text: "Many requests in one, `POST /batch`."},
		{path: "batch.immediate", text: "Up to how many are answered at once. More become an operation that the client polls."},
		{path: "batch.requests", text: "How many there may be in one."},
		{path: "batch.atOnce", text: "How many requests of one batch run at a time."},
		{path: "batch.memory", text: "How much the answers in one batch take together. It must be at least `limits.answerBody`."},
		{path: "batch.totalMemory", text: "How much the answers in all batches take together. It must be at least `batch.memory`."},
		{path: "batch.perCaller", text: "How many batches that are polled one caller may have under way; then 429."},
	}
}
