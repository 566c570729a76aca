package sim

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Face is the stand-in of one wire API. Each face is a package below this one. It registers itself when it is imported, as
// image formats and database drivers do. Package faces imports all of them. The functions of a face are called from many
// goroutines in parallel.
type Face struct {
	Name  string
	Claim func(r *http.Request) Claim // whether a request belongs to this face
	Serve func(ex *Exchange)          // answers a request that the face has claimed
	Help  func() string               // the section of [Help] about this face's models

	// Faults are the scripted refusals in the API's words, one for each fault for which [Fault.Refuses] is true.
	Faults map[Fault]Error

	// Listed returns this face's models on a host whose list of models another face serves. Nil: none.
	Listed func(host string) []map[string]any
}

// Claim states how certain it is that a request belongs to a face. The face with the highest claim serves the request. No
// two faces make the same claim to one request.
type Claim int

const (
	NoClaim   Claim = iota
	LastClaim       // the face takes every path that no other face claims
	PathClaim       // the path begins like this API's paths
	OwnClaim        // this exact path is the API's, or only its clients send such headers
)

// registered are the faces of this process, sorted by name.
var registered struct {
	sync.RWMutex
	faces []Face
}

// Register adds a face to all servers of this process. Init functions call it. It panics if the name is taken, or if
// f.Faults lacks a refusal or has an entry for a fault that is no refusal.
func Register(f Face) {
	for _, fault := range faults {
		if _, known := f.Faults[fault]; known != fault.Refuses() {
			panic(fmt.Sprintf("sim: face %s and the fault %s: has an entry: %t, needs one: %t", f.Name, fault, known, fault.Refuses()))
		}
	}
	registered.Lock()
	defer registered.Unlock()
	at, twice := slices.BinarySearchFunc(registered.faces, f.Name, func(f Face, name string) int { return cmp.Compare(f.Name, name) })
	if twice {
		panic("sim: face " + f.Name + " is registered twice")
	}
	registered.faces = slices.Insert(registered.faces, at, f)
}

// faces returns the registered faces, sorted by name.
func faces() []Face {
	registered.RLock()
	defer registered.RUnlock()
	return slices.Clone(registered.faces)
}

// faceFor returns the face that a request belongs to. Its error names the import that is missing.
func faceFor(r *http.Request) (Face, error) {
	var best Face
	claim := NoClaim
	names := []string{}
	for _, f := range faces() {
		names = append(names, f.Name)
		if c := f.Claim(r); c > claim {
			best, claim = f, c
		}
	}
	if claim == NoClaim {
		return Face{}, fmt.Errorf("sim: no face of this program serves %s %s (it has: %s). Import github.com/thinkd/thinkd/provider/sim/faces",
			r.Method, r.URL.Path, cmp.Or(strings.Join(names, ", "), "none"))
	}
	return best, nil
}

// Listed returns the models that the other faces add to a host's list.
func (ex *Exchange) Listed(host string) []map[string]any {
	list := []map[string]any{}
	for _, f := range faces() {
		if f.Listed != nil {
			list = append(list, f.Listed(host)...)
		}
	}
	return list
}
