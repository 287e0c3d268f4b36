package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"portico/config"
)

// step is something to try in the demo: lines for a shell, in order.
type step struct {
	title string // pasted too, so without quotes and parentheses, which some shells read in comments
	lines []string
	look  string // what to look at in the answers
}

// steps returns what there is to try, with contoso and with the user's own provider. The
// lines use the variables of [demo.variables]. eastus is the address of contoso's endpoint
// there.
func (d *demo) steps(cfg *config.Config, eastus string) []step {
	const (
		machines                 = "/providers/Contoso.Compute/virtualMachines"
		groupVersion, version    = "?api-version=2021-04-01", "?api-version=2024-01-01"
		group                    = "$demo" + groupVersion
		head                     = "-D - -o /dev/null"
		beta                     = "/subscriptions/" + demoSubscription + "/resourceGroups/demo" + machines + "/beta"
		faults, refusesDeletions = "/contoso/faults", `{"method":"DELETE","pathContains":"/beta","fault":"status=503","count":-1}`
	)
	machine := func(name, location string) string {
		return piped(send("PUT", "$demo"+machines+"/"+name+version, `{"location":"`+location+`","tags":{"made":"by hand"},"properties":{"size":"small"}}`))
	}
	portico := func(command string) string {
		return os.Args[0] + " " + command + " --config " + filepath.Join(d.data, "portico.yaml")
	}
	all := []step{
		{"Create a group, and a resource in each of three regions:", []string{
			piped(send("PUT", group, `{"location":"westus"}`)), machine("alpha", "West US"), machine("beta", "eastus"), machine("gamma", "North Europe"),
		}, "Each location was written in another way, and each resource went to its own region's endpoint."},
		{"Read one: the gateway knows its region. List all three as one collection:", []string{
			piped(`curl -sS "$demo` + machines + "/beta" + version + `"`), piped(`curl -sS "$portico` + machines + version + `"`),
		}, "One list, of three endpoints. None of them knows the others."},
		{"See the headers by which a request is traced:", []string{
			"curl -sS " + head + ` -H 'x-ms-client-request-id: my-own-id' -H 'x-ms-return-client-request-id: true' "$demo` + machines + "/gamma" + version +
				`"`,
		}, "x-ms-routing-request-id begins with the gateway's region; x-ms-client-request-id is the caller's own."},
		{"Read the ETag of the group, and get a 412 for a stale one:", []string{
			"curl -sS " + head + ` "` + group + `"`, withNewline(send("PATCH", group, `{"tags":{"stage":"test"}}`, "-i", `-H 'If-Match: W/"stale"'`)),
		}, "PreconditionFailed: a write with an ETag other than the current one changes nothing."},
		{"Next, see how a request would be handled, without sending it:", []string{
			portico("explain GET '" + beta + version + "'"),
		}, "The last lines name the region, and the address that would be called."},
		{"Then a deletion that waits: the endpoint in eastus refuses to delete beta until the last line. The line before it waits until status " +
			"shows that, or the group is gone.", []string{
			withNewline(send("POST", eastus+faults, refusesDeletions)), `curl -sS -i -X DELETE "` + group + `"`,
			"until " + portico("status") + " | grep -A2 'waits for eastus' || ! curl -sf -o /dev/null \"" + group + "\"; do sleep 1; done",
			"curl -sS -i -X DELETE '" + eastus + faults + "'",
		}, "202, and status names what the deletion waits for. The last line ends the refusals, and the next attempt deletes the group."},
		{"Watch all of it in the console, at http://" + cfg.Server.Admin + "/", nil, ""},
	}
	if d.guest != nil { // while the group exists
		all = slices.Insert(all, 2, step{title: "Use your own provider next to contoso:", lines: d.guest.requests("$demo", "$portico")})
	}
	return all
}

// variables returns lines that set the variables of the other lines, and of clients that
// have to trust the demo's certificate. The az CLI keeps its settings in the demo's folder.
func (d *demo) variables(cfg *config.Config) []string {
	var clients []string
	if trusted := filepath.Join(d.data, demoCertificate); d.signIn != "" {
		clients = []string{"export CURL_CA_BUNDLE=" + trusted + " REQUESTS_CA_BUNDLE=" + trusted + " AZURE_CONFIG_DIR=" + filepath.Join(d.data, "az")}
	}
	return append(clients,
		"portico="+cfg.Server.PublicURL.String()+"/subscriptions/"+demoSubscription,
		"demo=$portico/resourceGroups/demo",
	)
}

// piped pipes the answer of a command through jq, if it is installed.
func piped(line string) string {
	if _, err := exec.LookPath("jq"); err != nil {
		return withNewline(line)
	}
	return line + " | jq"
}

// withNewline ends the answer of a command with a newline.
func withNewline(line string) string { return line + ` -w '\n'` }

func (d *demo) explain(cfg *config.Config, steps []step) {
	url := cfg.Server.PublicURL.String()
	fmt.Fprintf(d.out, `The console of Portico's demo is at http://%s/
Portico itself is at %s, its admin listener at http://%s.
Its data is in %s: the gateway's store, contoso's state, and portico.yaml, the configuration. Ctrl-C ends it.

`, cfg.Server.Admin, url, cfg.Server.Admin, d.data)
	if d.tour {
		return
	}
	fmt.Fprintln(d.out, "Paste the following into another terminal, or go through it step by step with --tour. Variables keep the lines short.")
	fmt.Fprintln(d.out)
	for _, line := range d.variables(cfg) {
		fmt.Fprintln(d.out, line)
	}
	for _, s := range steps {
		fmt.Fprintf(d.out, "\n# %s\n", s.title)
		for _, line := range s.lines {
			fmt.Fprintln(d.out, line)
		}
	}
	fmt.Fprintln(d.out)
}
