// Package dashboards holds no code but tests: they prove the dashboards and the
// alert rules of deploy/ with a real Prometheus that asks real gateways.
//
// All sites of the live test run at once, each a scrape job of its own with a
// fault of its own, beside one that is sound: an alert has to fire for the job
// whose fault it is meant for, and for no other. Then every query of every panel
// has to have data. Queries, alerts and variables are read from the files
// themselves, so nothing can be left out. Alerts that look back for longer than
// two minutes are proved by promtool on made-up series instead.
package dashboards
