package sim

import "testing"

// FuzzSignature: what is no signature of ours is none.
func FuzzSignature(f *testing.F) {
	s := Sealer{fixedSecret}
	signed, _ := s.Sign(Seal{Kind: "thinking", Model: "claude-opus-5"})
	f.Add("")
	f.Add("AAAA")
	f.Add(signed[:40])
	f.Fuzz(func(t *testing.T, signature string) {
		if v, _, ok := s.Open(signature); ok {
			if again, _ := s.Sign(v); again != signature {
				t.Errorf("accepted %q, which is %q", signature, again)
			}
		}
	})
}
