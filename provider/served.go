package provider

import (
	"fmt"
	"strings"
)

// OtherModel says what happens if the model that answers is not the requested one.
type OtherModel string

const (
	OtherNotify OtherModel = "notify" // a notice says so, and the turn goes on
	OtherStop   OtherModel = "stop"   // the turn ends with an error, and nothing of the answer is taken
)

// Words lists both.
func (OtherModel) Words() []string { return Words(OtherNotify, OtherStop) }

// ParseOtherModel reads a client's word; the empty word stays empty, which means nobody asked.
func ParseOtherModel(word string) (OtherModel, error) {
	if o := OtherModel(word); word == "" || IsWord(o) {
		return o, nil
	}
	return "", fmt.Errorf("unknown value %q of on_other_model; known: %s", word, strings.Join(OtherModel("").Words(), ", "))
}

// Payer says who pays for the calls to a provider. It contains no part of a key, not even its last characters.
type Payer struct {
	Kind PayerKind `json:"kind"`
	Name string    `json:"name"` // for people: the plan, the variable or the store of the key, or the local server
}

// PayerKind says how calls are paid.
type PayerKind string

const (
	PaidByPlan  PayerKind = "plan"  // by a subscription that one logs in to
	PaidByKey   PayerKind = "key"   // by the account of an API key
	PaidLocally PayerKind = "local" // by nobody: the server needs no key
)

// Words lists all kinds.
func (PayerKind) Words() []string { return Words(PaidByPlan, PaidByKey, PaidLocally) }

func (p Payer) String() string {
	switch p.Kind {
	case PaidByPlan:
		return "the plan " + p.Name
	case PaidByKey:
		return "the key in " + p.Name
	}
	return p.Name + ", which needs no key"
}
