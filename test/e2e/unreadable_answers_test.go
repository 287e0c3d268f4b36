package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"portico/test/harness"
)

// Answers that say nothing, as what stands before a provider gives them, or a provider
// whose answer was cut off.
const (
	pageText   = "<!DOCTYPE html>\n<html><body><h1>The service is starting</h1></body></html>\n"
	utf16Text  = "\xff\xfe{\x00}\x00"
	onlyAMark  = "\ufeff"
	brokenText = `{"status":"Succeeded","properties":{"provisioningSt`
)

// saying is an answer of a success.
func saying(status int, text string) harness.Reply {
	return harness.Reply{Status: status, Body: text}
}

// unclearStatuses are answers to a poll of an operation's status that say nothing of it.
var unclearStatuses = map[string]harness.Reply{
	"a page":            {Status: 200, Body: pageText, Header: harness.Header("Content-Type", "text/html")},
	"nothing":           saying(200, ""),
	"no content":        saying(204, ""),
	"an empty object":   saying(200, `{}`),
	"no status":         saying(200, `{"status":null}`),
	"an empty status":   saying(200, `{"status":""}`),
	"a number":          saying(200, `{"status":200}`),
	"a mark alone":      saying(200, onlyAMark),
	"half":              saying(200, brokenText),
	"a list":            saying(200, `[]`),
	"null":              saying(200, `null`),
	"another encoding":  saying(200, utf16Text),
	"a resource":        saying(200, `{"properties":{"provisioningState":"Succeeded"}}`),
	"a created page":    saying(201, pageText),
	"a created nothing": saying(201, `{}`),
}

// unclearResults are answers to a poll of an operation's result that say nothing of it.
var unclearResults = map[string]harness.Reply{
	"a page":              {Status: 200, Body: pageText, Header: harness.Header("Content-Type", "text/html")},
	"half":                saying(200, brokenText),
	"another encoding":    saying(200, utf16Text),
	"an unreadable state": saying(200, `{"properties":{"provisioningState":7}}`),
	"a created page":      saying(201, pageText),
}

// A poll that says nothing of an operation ends no follow: taken for the end, the GET's
// 404 would free the ID of a create that has yet to land.
func TestPollsThatSayNothing(t *testing.T) {
	t.Parallel()
	w := newStubWorld(t, stubSettings)
	w.PutGroup(t, "rg")
	for header, all := range map[string]map[string]harness.Reply{"Azure-AsyncOperation": unclearStatuses, "Location": unclearResults} {
		var running []*stubOperation
		for name, answer := range all {
			id := w.thing("rg", strings.ReplaceAll(name, " ", "-")+"-at-"+header)
			create := w.stub.accept(http.MethodPut, "westus", id, header)
			w.stub.Script(harness.Script{Method: http.MethodGet, Part: "/" + create.name + "?", Times: 2, Answer: answer})
			w.put(t, id, "westus").Want(t, 202)
			running = append(running, create)
		}
		for _, create := range running {
			soon(t, "Portico to go on polling "+create.id, func() bool {
				w.wantRefusedInEastUS(t, "after a poll that says nothing", create.id)
				return len(create.polls()) > 2
			})
			create.finish()
		}
		for _, create := range running {
			w.wantLiveInWestUS(t, create.id)
		}
	}
}

// A poll of a move that says nothing is no end of it: the GETs after that would find
// nothing moved, and the move would fail while its provider goes on.
func TestMoveWhosePollsSayNothing(t *testing.T) {
	t.Parallel()
	for header, all := range map[string]map[string]harness.Reply{"Azure-AsyncOperation": unclearStatuses, "Location": unclearResults} {
		t.Run(header, func(t *testing.T) {
			t.Parallel()
			w, id := newStubThing(t, stubSettings, "mover")
			w.PutGroup(t, "other")
			from, to := w.SubscriptionPath()+"/resourceGroups/rg", w.SubscriptionPath()+"/resourceGroups/other"
			w.put(t, id, "westus").Want(t, 201)
			move := w.stub.accept(http.MethodPost, "westus", from+"/moveResources", header)
			for _, answer := range all {
				w.stub.Script(harness.Script{Method: http.MethodGet, Part: "/" + move.name + "?", Times: 1, Answer: answer})
			}
			o := beginMove(t, w.Portico, moveRequest("moveResources", from, to, id))
			soon(t, "Portico to go on polling", func() bool { return len(move.polls()) > len(all) })
			moved := w.thing("other", "mover")
			w.stub.Remove("westus", id)
			w.stub.Hold("westus", moved)
			move.finished.Store(true)
			if a := o.end(t, w.Portico); a.Status != http.StatusNoContent {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
			w.wantLiveInWestUS(t, moved)
		})
	}
}

// unreadableResources are successes that show no resource.
func unreadableResources(id string) map[string]harness.Reply {
	creating := fmt.Sprintf(`{"id":%q,"location":"westus","properties":{"provisioningState":"Creating"}}`, id)
	return map[string]harness.Reply{
		"created-nothing": saying(201, ""), "nothing": saying(200, ""), "no-content": saying(204, ""), "null": saying(201, "null"), "list": saying(201, "["+creating+"]"),
		"page": saying(201, pageText), "half": saying(201, creating[:len(creating)-20]), "encoding": saying(201, utf16Text), "marked-creating": saying(201, onlyAMark+creating),
	}
}

// The resource of a PUT whose answer does not show it is asked for: what it is like, and
// whether it is finished, nothing else says.
func TestPutsWithoutAReadableResource(t *testing.T) {
	t.Parallel()
	w := newStubWorld(t, stubSettings)
	w.PutGroup(t, "rg")
	const unfinished = "Creating"
	for name := range unreadableResources("") {
		id := w.thing("rg", name)
		held := func(state string) string {
			return fmt.Sprintf(`{"id":%q,"location":"westus","tags":{"team":%q},"properties":{"provisioningState":%q}}`, id, name, state)
		}
		w.stub.HoldText("westus", id, held(unfinished))
		w.stub.Script(harness.Script{Method: http.MethodPut, Part: id, Times: 1, Answer: unreadableResources(id)[name]})
		w.put(t, id, "westus").Want(t, 200, 201, 204)
		soon(t, "Portico to ask for "+id, func() bool { return len(w.stub.own(http.MethodGet, id)) > 2 })
		if state := w.indexed(t, id)["provisioningState"]; state != nil && state != unfinished {
			t.Errorf("%s: while it is being created, /resources says %v", id, state)
		}
		w.stub.HoldText("westus", id, held("Succeeded"))
	}
	for name := range unreadableResources("") {
		id := w.thing("rg", name)
		soon(t, "/resources to show the tags of "+id, func() bool {
			tags, _ := w.indexed(t, id)["tags"].(map[string]any)
			return tags["team"] == name
		})
		w.wantLiveInWestUS(t, id)
	}
}

// indexed is what /resources shows of a resource, nil if nothing.
func (w stubWorld) indexed(t *testing.T, id string) map[string]any {
	t.Helper()
	list := w.sendTo(t, http.MethodGet, w.SubscriptionPath()+"/resources?api-version=2021-04-01&$expand=provisioningState", "").Want(t, 200).Values(t)
	if i := slices.IndexFunc(list, func(r map[string]any) bool {
		shown, _ := r["id"].(string)
		return strings.EqualFold(shown, id)
	}); i >= 0 {
		return list[i]
	}
	return nil
}

// A 200 that shows no resource proves none, whoever asked: a row would stand for nothing,
// and keep the ID from every other region.
func TestGETsWithoutAReadableResource(t *testing.T) {
	t.Parallel()
	w := newStubWorld(t, stubSettings)
	w.PutGroup(t, "rg")
	ends := map[string]func(){}
	for name, answer := range map[string]harness.Reply{
		"page": saying(200, pageText), "nothing": saying(200, ""), "half": saying(200, `{"id":"/subscr`), "null": saying(200, "null"), "encoding": saying(200, utf16Text),
	} {
		id := w.thing("rg", name)
		w.put(t, id, "westus").Want(t, 201)
		w.stub.Remove("westus", id)
		ends[id] = w.stub.Script(harness.Script{Method: http.MethodGet, Part: id, Answer: answer})
		w.stub.Script(harness.Script{Method: http.MethodDelete, Part: id, Times: 1, Answer: harness.Fault(http.StatusNotFound, "RouteNotFound", "There is no such route.")})
		w.send(t, http.MethodDelete, id, "").WantError(t, 404, "RouteNotFound")
	}
	for id, end := range ends {
		soon(t, "Portico to ask for "+id, func() bool {
			w.send(t, http.MethodGet, id, "").Want(t, 200)
			return len(w.stub.own(http.MethodGet, id)) > 1
		})
		if code := w.wantRefusedInEastUS(t, "while nothing is known", id).ErrorCode(); code != "Conflict" {
			t.Errorf("%s: a PUT elsewhere is refused as %q, want Conflict", id, code)
		}
		end()
		w.wantForgotten(t, id)
	}
}
