package converse

import (
	"reflect"

	"github.com/thinkd/thinkd/provider/exchange"
)

// Members names what a body can have, as [exchange.Members] does.
func Members() []string { return exchange.Members(reflect.TypeFor[body]()) }
