package model

// Harm is what must never happen: the invariants of the cluster, in words.
type Harm string

const (
	PromptLost     Harm = "A prompt is lost that was acknowledged."
	LossUnnoticed  Harm = "The store lost an acknowledged prompt, and the next owner continues without reporting it."
	RunsTwice      Harm = "A turn runs twice."
	LateTool       Harm = "A tool starts after its turn was closed as interrupted."
	TwoWriters     Harm = "An entry of a former owner is behind a claim."
	OldView        Harm = "A view is served without a prompt that was acknowledged."
	NumberTwice    Harm = "Two updates have the same number: a client that has the one never gets the other."
	ToldWrong      Harm = "A client gets the answer that its prompt is not stored, but the log has it, or will have it."
	FencedByNobody Harm = "An owner ends its session for a claim of somebody else, and there is none."
	Evicted        Harm = "A node claims a session from a healthy owner that serves it."
	Returns        Harm = "A session that was deleted exists again."
	DeletesUnseen  Harm = "A former owner deletes messages that it has never seen."
	Closed         Harm = "Nobody can open the session, although a healthy node is asked for it again and again."
	Stranded       Harm = "A turn stays open, or a queue waits that nothing holds, although there is a healthy node."
)
