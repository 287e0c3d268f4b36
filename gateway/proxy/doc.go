// Package proxy takes a request for a resource provider its way: content and common
// arguments are checked, the request is resolved to the endpoint that serves it, called
// there, and answered.
//
// A read is forwarded ([Proxy.Serve], read.go); if a cached location led it to an empty
// answer, that is confirmed against the store first. A write of a tracked resource
// records its intent before the call and its outcome before the answer (write.go,
// intent.go). A list over several regions is merged (merged_list.go). A poll goes to the
// endpoint that issued its URL (poll.go), or is answered by the resource that the
// operation works on (substitute_poll.go, outcome.go).
//
// Every answer of a provider reaches the client through deliver.go, which makes links of
// pages (page.go) and polling URLs (poll_urls.go) lead to the front door.
package proxy
