package conn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/rpc/conntest"
)

func TestFrameTable(t *testing.T) {
	s := testServer(t, 0)
	cases := append(conntest.IDs(), conntest.Shapes()...)
	if len(cases) < 60 {
		t.Fatalf("%d cases", len(cases))
	}
	for _, f := range conntest.Framings {
		for _, tc := range cases {
			t.Run(f.Name+"/"+tc.Name, func(t *testing.T) {
				// The connection lives on: a ping behind it is answered.
				got, err := converse(t, s, strings.NewReader(f.All(tc.Send, conntest.Ping(`"after"`))))
				if err != nil {
					t.Fatal(err)
				}
				want := f.Wrap(fmt.Sprintf(conntest.Pong, `"after"`))
				if tc.Want != "" {
					want = f.Wrap(tc.Want) + want
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			})
		}
	}
}

func TestMalformedInARow(t *testing.T) {
	bad := make([]string, MaxMalformed)
	for i := range bad {
		bad[i] = []string{`{`, `[]`, `[1,2]`, `{"id":1}`}[i%4]
	}
	for _, f := range conntest.Framings {
		t.Run(f.Name, func(t *testing.T) {
			s := testServer(t, 0)
			nearly := f.All(bad[1:]...)
			got, err := converse(t, s, strings.NewReader(nearly+f.Wrap(conntest.Ping("1"))+nearly+f.Wrap(conntest.Ping("2"))))
			if err != nil || !strings.HasSuffix(got, f.Wrap(fmt.Sprintf(conntest.Pong, "2"))) {
				t.Errorf("%d malformed messages and a good one, twice: %v, %s", MaxMalformed-1, err, got)
			}
			got, err = converse(t, s, strings.NewReader(f.All(bad...)+f.Wrap(conntest.Ping("1"))))
			if !errors.Is(err, ErrMalformed) {
				t.Errorf("%d malformed messages: Serve ended with %v", MaxMalformed, err)
			}
			if n := strings.Count(got, `"code"`); n != MaxMalformed+MaxMalformed/4 {
				t.Errorf("%d errors came for %d malformed messages:\n%s", n, MaxMalformed, got)
			}
			if strings.Contains(got, `"result"`) {
				t.Errorf("what came after them was handled:\n%s", got)
			}
		})
	}
}

// Elements and members are found in valid JSON as encoding/json finds them.
func TestMembersAndElements(t *testing.T) {
	object := []byte(` { "a" : 1 , "b\"":"}]\\\"" ,"":{"x":[ {},[]," ] "]}, "c":[],"d":null,"e":-1.5e+3 } `)
	var want map[string]json.RawMessage
	if err := json.Unmarshal(object, &want); err != nil {
		t.Fatal(err)
	}
	got := map[string]json.RawMessage{}
	for name, value := range Members(bytes.TrimSpace(object)) {
		got[name] = value
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("members (-want +got)\n%s", diff)
	}

	array := []byte(` [ 1 ,"a]",[ ], {"b":[ "\\" ]} ,true ] `)
	var wantList, gotList []json.RawMessage
	if err := json.Unmarshal(array, &wantList); err != nil {
		t.Fatal(err)
	}
	for value := range Elements(array) {
		gotList = append(gotList, value)
	}
	if diff := cmp.Diff(wantList, gotList); diff != "" {
		t.Errorf("elements (-want +got)\n%s", diff)
	}
	for range Elements([]byte(`[ ]`)) {
		t.Error("an empty array has an element")
	}
	for range Members([]byte(`{ }`)) {
		t.Error("an empty object has a member")
	}
}
