package doors

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// Two editors race to answer one question. One answer counts, both editors learn which, and the call runs if it was a yes. A third
// editor that connects meanwhile finds the question open, and its late answer does nothing.
func TestEditorsRaceToConfirm(t *testing.T) {
	t.Parallel()
	data := proof.DataDir(t)
	one, two := proof.Door(t, data, nil), proof.Door(t, data, nil)
	for name, p := range map[string]*proof.Process{"one": one, "two": two} {
		p.Must("initialize", map[string]any{"protocol_version": 1, "client": map[string]any{"name": name}}, nil)
	}
	var s struct {
		ID string `json:"session_id"`
	}
	one.Must("session/new", map[string]any{"model_id": "sim/claude", "tools": []any{map[string]any{"name": "work", "effect": "run"}},
		"tool_policy": map[string]any{"effects": map[string]any{"run": "ask"}}}, &s)
	two.Attach(s.ID)
	wins := map[string]int{}
	for range 10 {
		turn := one.Say(s.ID, "Use it. [[sim: tool=work thinking=0 text=3 pace=0]]")
		var asked struct {
			Confirm string `json:"confirm_id"`
			Call    string `json:"call_id"`
		}
		of := func(method string) func(proof.Update) bool {
			return func(u proof.Update) bool { return u.Method == method && u.Turn == turn }
		}
		if err := json.Unmarshal(two.Wait("the question", of("confirm")).Raw, &asked); err != nil {
			t.Fatal(err)
		}
		late := proof.Door(t, data, nil)
		var at struct {
			Session struct{ Status string }
			Open    struct {
				Confirms []struct {
					Confirm string `json:"confirm_id"`
				}
			}
		}
		late.Must("session/attach", map[string]any{"session_id": s.ID}, &at)
		if len(at.Open.Confirms) != 1 || at.Open.Confirms[0].Confirm != asked.Confirm || at.Session.Status != "waiting" {
			t.Errorf("a client that comes finds %+v", at)
		}
		if err := late.Call("tool/result", map[string]any{"session_id": s.ID, "call_id": asked.Call, "content": []any{}}, nil); err == nil {
			t.Error("a result was taken for a call that nobody allowed")
		}

		answer := func(p *proof.Process, action string, accepted *bool) func() {
			return func() {
				var r struct{ Accepted bool }
				if err := p.Call("confirm/answer", map[string]any{"session_id": s.ID, "confirm_id": asked.Confirm, "action": action}, &r); err != nil {
					t.Error(err)
				}
				*accepted = r.Accepted
			}
		}
		var yes, no bool
		var race sync.WaitGroup
		race.Go(answer(one, "allow", &yes))
		race.Go(answer(two, "deny", &no))
		race.Wait()
		if yes == no {
			t.Fatalf("yes counts: %v, no counts: %v", yes, no)
		}
		var again bool
		answer(late, "allow", &again)()
		if again {
			t.Error("a late answer counts")
		}
		want, by, host := "deny", "two", ""
		if yes {
			want, by, host = "allow", "one", "client"
		}
		wins[want]++
		for _, p := range []*proof.Process{one, two} {
			var told struct{ Action, By, Client string }
			if err := json.Unmarshal(p.Wait("the verdict", of("confirm_resolved")).Raw, &told); err != nil {
				t.Fatal(err)
			}
			if told.Action != want || told.By != "client" || told.Client != by {
				t.Errorf("%s won with %s, and told is %+v", by, want, told)
			}
			var start struct{ Host string }
			if err := json.Unmarshal(p.Wait("the call", of("tool_start")).Raw, &start); err != nil {
				t.Fatal(err)
			}
			if start.Host != host {
				t.Errorf("after %s the host is %q", want, start.Host)
			}
		}
		err := late.Call("tool/result", map[string]any{"session_id": s.ID, "call_id": asked.Call, "content": []any{}}, nil)
		if (err == nil) != yes {
			t.Errorf("after %s the result of the call: %v", want, err)
		}
		one.Wait("the end", proof.Ended(turn))
		late.End()
	}
	t.Logf("%v", wins)
}
