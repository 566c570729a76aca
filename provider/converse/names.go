package converse

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/replay"
)

// newNames are the names of tools in a request. Some models refuse a dash.
func newNames(req *provider.Request) *replay.Names {
	return replay.NewNames(req.Tools, slices.Contains(req.Repairs, PlainNames))
}

// shortID is a call's id of nine letters and digits.
func shortID(id string, n int) string {
	sum := sha256.Sum256([]byte(strconv.Itoa(n) + " " + id))
	return hex.EncodeToString(sum[:])[:9]
}
