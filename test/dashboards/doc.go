// Package dashboards contains only tests: they check the dashboards and the alert rules
// of deploy/ with a real Prometheus that scrapes real gateways.
//
// All sites of the live test run at once, each a scrape job with its own fault, beside
// a healthy one: an alert must fire for the job with its fault, and for no other. Then
// every query of every panel must return data. Queries, alerts and variables are read
// from the files themselves, so none can be left out. Alerts with windows longer than
// two minutes are checked by promtool on made-up series instead, in package rules.
package dashboards
