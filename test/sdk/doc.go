// Package sdk holds no code but tests: they drive a running Portico, over TLS
// and with bearer tokens, through the Azure SDK for Go, as its users' programs
// do. It is a module of its own, so that who builds or imports Portico need
// not fetch the SDK.
//
// Nothing of the SDK is replaced or set aside: its pipeline, its pagers and
// pollers, its automatic registration of providers are what is tested. Only
// its retries are switched off, since they would hide a wrong answer.
package sdk
