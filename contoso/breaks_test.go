package contoso

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// trial asks a site about one rule, in a subscription of the rule's own.
type trial struct {
	*site
	sub, group, vm, nic string
}

// told is an answer read loosely: what is not there is nil or empty.
type told struct {
	reply
	fields map[string]any
}

func (x trial) ask(method, target, body string, headers ...string) told {
	a, err := x.send(method, target, body, headers...)
	if err != nil {
		x.t.Fatalf("%s %s: %v", method, target, err)
	}
	out := told{reply: a}
	_ = json.Unmarshal([]byte(a.body), &out.fields) // bodies that are no objects have no fields
	return out
}

func (a told) text(path ...string) string {
	var v any = a.fields
	for _, key := range path {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// target gives the path and query of a link on whatever host.
func target(link string) string {
	u, err := url.Parse(link)
	if err != nil {
		return "/"
	}
	return u.RequestURI()
}

func (x trial) walk() (ids []string, last told) {
	next := x.group + "/virtualMachines" + version
	for range 10 {
		last = x.ask("GET", next, "", "x-contoso-page-size: 1")
		list, _ := last.fields["value"].([]any)
		for _, item := range list {
			ids = append(ids, item.(map[string]any)["id"].(string))
		}
		if last.text("nextLink") == "" {
			break
		}
		next = target(last.text("nextLink"))
	}
	return ids, last
}

// headBody gives what a server sends after the head of its answer to HEAD.
func (x trial) headBody(path string) string {
	conn, err := new(net.Dialer).DialContext(x.t.Context(), "tcp", strings.TrimPrefix(x.url, "http://"))
	if err != nil {
		x.t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "HEAD %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path)
	all, err := io.ReadAll(conn)
	if err != nil {
		x.t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(all), "\r\n\r\n")
	return body
}

func (x trial) put(id string) told { return x.ask("PUT", id+version, westVM) }

// rules has, for each break, whether the rule holds that it breaks.
var rules = map[string]func(x trial) bool{
	caseSensitiveNames: func(x trial) bool { x.put(x.vm); return x.ask("GET", x.shouted()+version, "").status == 200 },
	normalisedCasing:   func(x trial) bool { a := x.put(x.vm); return a.text("id") == x.vm && a.text("name") == "Vm1" },
	nameFromBody: func(x trial) bool {
		return strings.EqualFold(x.ask("PUT", x.vm+version, `{"location":"westus","name":"other"}`).text("name"), "vm1")
	},
	mutableLocation: func(x trial) bool {
		x.put(x.vm)
		return x.ask("PATCH", x.vm+version, `{"location":"eastus"}`).status == 400 && x.ask("PUT", x.vm+version, `{"location":"eastus"}`).text("location") != "eastus"
	},
	tagsMergedOnPatch: func(x trial) bool {
		x.ask("PUT", x.vm+version, `{"location":"westus","tags":{"a":"1"}}`)
		return x.ask("PATCH", x.vm+version, `{"tags":{"b":"2"}}`).text("tags") == "map[b:2]"
	},
	propertiesReplacedOnPatch: func(x trial) bool {
		x.ask("PUT", x.vm+version, `{"location":"westus","properties":{"a":1,"b":2}}`)
		return x.ask("PATCH", x.vm+version, `{"properties":{"a":3}}`).text("properties", "b") == "2"
	},
	skuPatchClearsRest: func(x trial) bool {
		x.ask("PUT", x.vm+version, `{"location":"westus","sku":{"name":"S1"},"tags":{"a":"1"},"properties":{"a":1}}`)
		a := x.ask("PATCH", x.vm+version, `{"sku":{"name":"F0","capacity":1}}`)
		return a.text("properties", "a") == "1" && a.text("tags", "a") == "1" && a.text("sku", "name") == "F0"
	},
	deleteAbsent404: func(x trial) bool { return x.ask("DELETE", x.vm+version, "").status == 204 },
	putExisting409:  func(x trial) bool { x.put(x.vm); return x.put(x.vm).status == 200 },
	emptyNextLink: func(x trial) bool {
		x.put(x.vm)
		_, last := x.walk()
		_, has := last.fields["nextLink"]
		return !has
	},
	pageLosesItem: func(x trial) bool {
		for _, n := range []string{"1", "2", "3"} {
			x.put(x.vm + n)
		}
		ids, _ := x.walk()
		return len(ids) == 3
	},
	nextLinkFromHost: func(x trial) bool {
		x.put(x.vm)
		x.put(x.vm + "2")
		return strings.HasPrefix(x.ask("GET", x.group+"/virtualMachines"+version+"&$top=1", "").text("nextLink"), public)
	},
	etagStrong:        func(x trial) bool { return strings.HasPrefix(x.put(x.vm).text("etag"), `W/"`) },
	etagHeaderMissing: func(x trial) bool { a := x.put(x.vm); return a.header.Get("ETag") == a.text("etag") },
	ifMatchIgnored: func(x trial) bool {
		x.put(x.vm)
		return x.ask("PATCH", x.vm+version, `{}`, `If-Match: W/"stale"`).status == 412
	},
	ifNoneMatchIgnored: func(x trial) bool {
		x.put(x.vm)
		return x.ask("PUT", x.vm+version, westVM, "If-None-Match: *").status == 412 && x.ask("GET", x.vm+version, "", "If-None-Match: *").status == 304
	},
	oldVersionIgnoresIfMatch: func(x trial) bool {
		x.put(x.vm)
		return x.ask("PATCH", x.vm+old, `{}`, "If-Match: *").status == 406
	},
	provisioningStateAccepted: func(x trial) bool {
		x.put(x.vm)
		return x.ask("PATCH", x.vm+version, `{"properties":{"provisioningState":"Failed"}}`).status == 400
	},
	asyncPutTerminalAtOnce: func(x trial) bool {
		return x.ask("PUT", x.vm+version, westVM, asyncState).text("properties", "provisioningState") == "Creating"
	},
	async202Visible: func(x trial) bool {
		x.ask("PUT", x.vm+version, westVM, "x-contoso-async: accepted")
		return x.ask("GET", x.vm+version, "").status == 404
	},
	async202Body: func(x trial) bool { return x.begin().body == "" },
	locationRelative: func(x trial) bool {
		return strings.Contains(x.begin().header.Get("Location"), "://")
	},
	locationFromHost: func(x trial) bool {
		u, err := url.Parse(x.begin().header.Get("Location"))
		return err == nil && (u.Host == "" || u.Scheme+"://"+u.Host == public)
	},
	statusPoll202: func(x trial) bool {
		return x.ask("GET", target(x.begin().header.Get("Azure-AsyncOperation")), "").status == 200
	},
	locationResultDiffers: func(x trial) bool {
		link := x.begin().header.Get("Location")
		x.advance(time.Second)
		a := x.ask("GET", target(link), "")
		return a.status == 200 && a.body == ""
	},
	operationSeenByOthers: func(x trial) bool {
		return x.ask("GET", target(x.begin().header.Get("Location")), "", "x-ms-client-object-id: another").status == 404
	},
	operationIDIsRequestID: func(x trial) bool {
		a := x.begin()
		return !strings.Contains(a.header.Get("Location"), a.header.Get("x-ms-request-id"))
	},
	failedUpdateKept: func(x trial) bool {
		x.ask("PUT", x.vm+version, `{"location":"westus","properties":{"n":1}}`)
		x.ask("PATCH", x.vm+version, `{"properties":{"n":2}}`, "x-contoso-async: location", failing)
		x.advance(time.Second)
		return x.ask("GET", x.vm+version, "").text("properties", "n") == "1"
	},
	childrenSurvive: func(x trial) bool {
		x.put(x.vm)
		x.ask("PUT", x.vm+"/disks/d"+version, `{}`)
		x.ask("DELETE", x.vm+version, "")
		return x.ask("GET", x.vm+"/disks/d"+version, "").status == 404
	},
	refuseIgnored: func(x trial) bool {
		x.put(x.nic)
		x.ask("PUT", x.nic+"/ipConfigurations/i"+version, `{}`)
		return x.ask("DELETE", x.nic+version, "").status == 409
	},
	proxyChildHasTags: func(x trial) bool {
		x.put(x.vm)
		_, has := x.ask("PUT", x.vm+"/runCommands/r"+version, `{}`).fields["tags"]
		return !has
	},
	requestIDIsRoutingID: func(x trial) bool {
		return x.ask("GET", x.vm+version, "", "x-ms-routing-request-id: R:T:G").header.Get("x-ms-request-id") != "R:T:G"
	},
	systemDataDropped: func(x trial) bool {
		return x.ask("PUT", x.vm+version, westVM, `x-ms-arm-resource-system-data: {"createdBy":"ann"}`).text("systemData", "createdBy") == "ann"
	},
	skusMissing404: func(x trial) bool { x.put(x.nic); return x.ask("GET", x.nic+"/skus"+version, "").status == 200 },
	unregisteredList403: func(x trial) bool {
		x.ask("PUT", x.sub+"?api-version=2.0", `{"state":"Unregistered"}`)
		return x.ask("GET", x.group+"/virtualMachines"+version, "").status == 200
	},
	checkNameWrong: func(x trial) bool {
		x.put(x.vm)
		return x.ask("POST", x.sub+"/providers/Contoso.Compute/checkNameAvailability"+version, `{"name":"Vm1","type":"Contoso.Compute/virtualMachines"}`).text("nameAvailable") == "false"
	},
	actionUnknown200: func(x trial) bool { x.put(x.vm); return x.ask("POST", x.vm+"/explode"+version, "").status == 404 },
	headWithBody:     func(x trial) bool { x.put(x.vm); return x.headBody(x.vm+version) == "" },

	moveAnswersBody: func(x trial) bool { x.put(x.vm); return x.move(x.otherGroup(), x.vm).body == "" },
	moveCopies:      func(x trial) bool { x.put(x.vm); x.move(x.otherGroup(), x.vm); return x.absent(x.vm) },
	moveKeepsSubscription: func(x trial) bool {
		x.put(x.vm)
		to := toGroup + fmt.Sprint(len(x.sub))
		x.move(to, x.vm)
		return !x.absent(x.at(to, x.vm))
	},
	moveLeavesChildren: func(x trial) bool {
		x.put(x.vm)
		x.ask("PUT", x.vm+"/disks/d"+version, `{}`)
		x.move(x.otherGroup(), x.vm)
		x.put(x.at(x.otherGroup(), x.vm))
		return !x.absent(x.at(x.otherGroup(), x.vm) + "/disks/d")
	},
	moveAbsentSkipped: func(x trial) bool { return x.move(x.otherGroup(), x.vm).status == 404 },
	moveRefusedHalf: func(x trial) bool {
		x.put(x.vm)
		x.move(x.otherGroup(), x.vm, x.vm+"2")
		return !x.absent(x.vm) || x.breaks[moveAbsentSkipped]
	},
	moveAgainLoses: func(x trial) bool {
		x.put(x.vm)
		x.move(x.otherGroup(), x.vm)
		x.move(x.otherGroup(), x.vm)
		return !x.absent(x.at(x.otherGroup(), x.vm))
	},
	moveFirstAlone: func(x trial) bool {
		x.put(x.vm)
		x.put(x.vm + "2")
		x.move(x.otherGroup(), x.vm, x.vm+"2")
		return !x.absent(x.at(x.otherGroup(), x.vm+"2"))
	},
	moveNoLocation: func(x trial) bool {
		x.put(x.vm)
		return x.move(x.otherGroup(), x.vm, "x-contoso-async: location").header.Get("Location") != ""
	},
	createdForPutUntagged:   func(x trial) bool { calls, _ := x.cluster(); return strings.Contains(calls[0], createdForTag) },
	createdForPatchUntagged: func(x trial) bool { calls, _ := x.cluster(); return strings.Contains(calls[1], createdForTag) },
	createdForShown:         func(x trial) bool { _, shown := x.cluster(); return !strings.Contains(shown, createdForTag) },
	managedByKept: func(x trial) bool {
		x.ask("PUT", x.vm+version, `{"location":"westus","managedBy":"/a"}`)
		return x.put(x.vm).text("managedBy") == ""
	},
	managedByFixed: func(x trial) bool {
		x.ask("PUT", x.vm+version, `{"location":"westus","managedBy":"/a"}`)
		return x.ask("PUT", x.vm+version, `{"location":"westus","managedBy":"/b"}`).text("managedBy") != "/a"
	},
	certificateNotAsked: func(x trial) bool { status, _ := x.guarded(false); return status == 403 },
	certificateAny:      func(x trial) bool { status, _ := x.guarded(true); return status == 403 },
	certificateTooLate: func(x trial) bool {
		status, done := x.guarded(false)
		return !done || status != 403
	},
	envelopeRepeated:       func(x trial) bool { return x.put(x.vm).text("properties", "name") == "" },
	memberBesideProperties: func(x trial) bool { return x.put(x.vm).text("health") == "" },
	unknownMember500: func(x trial) bool {
		return x.ask("PUT", x.vm+version, `{"location":"westus","surprise":1}`).status == 201
	},
	propertiesNull500: func(x trial) bool {
		x.put(x.vm)
		return x.ask("PATCH", x.vm+version, `{"properties":null}`).status == 200
	},
	deleteStatusFails: func(x trial) bool {
		link := x.begin().header.Get("Azure-AsyncOperation")
		x.advance(time.Second)
		return x.ask("GET", target(link), "").text("status") != stateFailed
	},
	repeatedPut500: func(x trial) bool {
		x.ask("PUT", x.vm+version, westVM, asyncState)
		return x.put(x.vm).status != 500
	},
	repeatedDelete500: func(x trial) bool {
		x.begin()
		return x.ask("DELETE", x.vm+version, "").status == 200
	},
	repeatedPost500: func(x trial) bool {
		x.put(x.vm)
		x.ask("POST", x.vm+"/start"+version, "")
		return x.ask("POST", x.vm+"/start"+version, "").status == 200
	},
	subscriptionCasing: func(x trial) bool {
		x.put(x.letteredVM())
		return x.put(strings.Replace(x.letteredVM(), "ab", "AB", 1)).status != 201
	},
	typeCasing: func(x trial) bool {
		x.put(x.vm)
		return x.put(strings.Replace(x.vm, "virtualMachines", "VIRTUALMACHINES", 1)).status != 201
	},
	nextLinkCasing: func(x trial) bool {
		x.put(x.vm)
		x.put(x.vm + "2")
		link := x.ask("GET", x.group+"/virtualMachines"+version+"&$top=1", "").text("nextLink")
		return x.ask("GET", strings.Replace(target(link), "/Rg/", "/RG/", 1), "").status == 200
	},
	pollCasing: func(x trial) bool {
		x.put(x.vm)
		link := x.ask("DELETE", x.vm+version, "", "x-contoso-async: azure-async", "x-contoso-operation-path: resource").header.Get("Location")
		return x.ask("GET", strings.Replace(target(link), "/Rg/", "/RG/", 1), "").status == 202
	},
	twoCreations: func(x trial) bool {
		return !x.sometimes(func(id string) bool { return x.atOnce(id, "PUT", "PUT") == "201 201" })
	},
	lostDelete: func(x trial) bool {
		return !x.sometimes(func(id string) bool {
			x.put(id)
			return x.atOnce(id, "PUT", "DELETE") == "200 200" && !x.absent(id)
		})
	},
	pageByOffset: func(x trial) bool {
		for _, n := range []string{"1", "2", "3"} {
			x.put(x.vm + n)
		}
		second := func(link string) string { return fmt.Sprint(x.ask("GET", target(link), "").fields["value"]) }
		first := func() string {
			return x.ask("GET", x.group+"/virtualMachines"+version+"&$top=1", "").text("nextLink")
		}
		before, later := first(), first()
		page := second(before)
		x.ask("DELETE", x.vm+"1"+version, "")
		got := second(later)
		return got == page || got == "<nil>" // refused: another break
	},
	nextLinkStale: func(x trial) bool {
		x.put(x.vm)
		x.put(x.vm + "2")
		link := x.ask("GET", x.group+"/virtualMachines"+version+"&$top=1", "").text("nextLink")
		x.put(x.vm + "3")
		return x.ask("GET", target(link), "").text("error", "code") == ""
	},
	nextLinkOnce: func(x trial) bool {
		x.put(x.vm)
		x.put(x.vm + "2")
		link := x.ask("GET", x.group+"/virtualMachines"+version+"&$top=1", "").text("nextLink")
		first := x.ask("GET", target(link), "").status
		return x.ask("GET", target(link), "").status == first
	},
	throttledBare:         func(x trial) bool { a := x.readOften(); return a.status != 429 || a.header.Get("Retry-After") != "" },
	throttledWithoutError: func(x trial) bool { a := x.readOften(); return a.status != 429 || a.text("error", "code") != "" },
	burst500:              func(x trial) bool { return x.readOften().status != 500 },
}

// begin has a machine be deleted by an operation.
func (x trial) begin() told {
	x.put(x.vm)
	return x.ask("DELETE", x.vm+version, "", "x-contoso-async: azure-async")
}

// broken gives the rules that do not hold at the site.
func brokenRules(s *site) []string {
	var out []string
	for i, b := range Breaks() {
		x := trial{site: s, sub: fmt.Sprintf("/subscriptions/00000000-0000-0000-0000-%012d", i)}
		x.group = x.sub + "/resourceGroups/Rg/providers/Contoso.Compute"
		x.vm, x.nic = x.group+"/virtualMachines/Vm1", x.group+"/networkInterfaces/Nic1"
		if !rules[b.Name](x) {
			out = append(out, b.Name)
		}
	}
	return out
}

func TestEachBreakBreaksOneRule(t *testing.T) {
	if len(rules) != len(Breaks()) {
		t.Fatalf("%d rules for %d breaks", len(rules), len(Breaks()))
	}
	if got := brokenRules(newSite(t, "westus")); got != nil {
		t.Errorf("without a break these do not hold: %q", got)
	}
	for _, b := range Breaks() {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			if b.Section == "" || b.Description == "" {
				t.Errorf("%+v", b)
			}
			if got := brokenRules(newSiteWith(t, Options{Region: "westus", Breaks: []string{b.Name}})); !slices.Equal(got, []string{b.Name}) {
				t.Errorf("breaks %q", got)
			}
		})
	}
}

func TestUnknownBreaksAreRefused(t *testing.T) {
	_, err := New(Options{Region: "westus", Breaks: []string{etagStrong, "gravity"}})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range append([]string{"gravity"}, etagStrong, caseSensitiveNames, headWithBody) {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v: does not name %s", err, want)
		}
	}
}
