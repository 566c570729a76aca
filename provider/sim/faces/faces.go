// Package faces registers every wire API with the simulator. A program or a test that serves the simulator imports it
// for this effect:
//
//	import _ "github.com/thinkd/thinkd/provider/sim/faces"
package faces

import (
	_ "github.com/thinkd/thinkd/provider/sim/chat"
	_ "github.com/thinkd/thinkd/provider/sim/cohere"
	_ "github.com/thinkd/thinkd/provider/sim/converse"
	_ "github.com/thinkd/thinkd/provider/sim/gemini"
	_ "github.com/thinkd/thinkd/provider/sim/messages"
	_ "github.com/thinkd/thinkd/provider/sim/ollama"
	_ "github.com/thinkd/thinkd/provider/sim/responses"
)
