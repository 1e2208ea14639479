/*
 * A cycle of the sweep with everything that may die in it: one storage node, workers that forget all when they restart,
 * managers that take over from each other and do not know it, signed manifests that arrive late or again.
 *
 * What is not here: filters have no false positives (they only keep garbage), ids are pieces, signatures cannot be forged,
 * and the 128-bit sum is equality of sets.
 *
 * A flaw is a rule left out. Each check says what must hold without any flaw; the ones below it leave one rule out and must
 * find a counterexample, so that a check that can see nothing is noticed.
 */
module cycle

open util/ordering[Cycle]

sig Piece {}

/** Numbered by compare-and-set: no number is given twice, whoever gives it. */
sig Cycle {}

/** One attempt at the node within a cycle. */
sig Session { of: one Cycle }

sig Worker {}

abstract sig Flaw {}
one sig SignsUncompared, DigestIgnored, PutKeepsAge, SparesNothing, BooksLost, EmptiesUnconfirmed, ConfirmsAtOnce
  extends Flaw {}
one sig Rules { without: lone Flaw }

/** What somebody does wrong in a whole run; each is checked by itself. */
abstract sig Wrong {}
one sig LiesOnce, ReusesUnrenewed extends Wrong {}
one sig Run { wrong: lone Wrong, liar: lone Cycle }

one sig World {
  // the node's disk, and the catalogue
  var on: set Piece,          // live files
  var trash: set Piece,
  var live: set Piece,        // rows of the catalogue
  var pending: set Piece,     // put, and the row may still come: no longer than the spare window
  // the snapshots: one a cycle, for all its attempts
  var taken: set Cycle,
  var seen: Cycle -> Piece,   // rows in the snapshot
  var young: Cycle -> Piece,  // pieces that the node spares in this cycle because of their age
  // the workers
  var knows: Worker -> Session,
  var built: Worker -> Session -> Piece,
  // what managers have signed; nothing takes a signature back
  var signed: set Session,
  var digest: Session -> Piece,
  // the node's books
  var last: lone Cycle,
  var plan: lone Session,
  var filter: set Piece,
  var voided: set Cycle,
  // emptying: what was carried out last, its filter, and which cycles opened a whole trash age after a piece was trashed
  var done: lone Cycle,
  var confirms: set Piece,
  var ripe: Piece -> Cycle,
  var gone: set Piece,        // deleted for good
  var using: set Piece        // seen on the disk by a writer who will commit without a put: no longer than the trash age
}

pred sameDisk {
  World.on' = World.on and World.trash' = World.trash and World.ripe' = World.ripe and World.gone' = World.gone
}
pred sameDone { World.done' = World.done and World.confirms' = World.confirms }
pred sameRows { World.live' = World.live and World.pending' = World.pending and World.using' = World.using }
pred sameSnapshots { World.taken' = World.taken and World.seen' = World.seen and World.young' = World.young }
pred sameWorkers { World.knows' = World.knows and World.built' = World.built }
pred sameSigned { World.signed' = World.signed and World.digest' = World.digest }
pred sameBooks {
  World.last' = World.last and World.plan' = World.plan and World.filter' = World.filter and World.voided' = World.voided
  sameDone
}
pred sameFleet { sameSnapshots and sameWorkers and sameSigned and sameBooks }

pred init {
  no World.trash and no World.live and no World.pending and World.on in Piece
  no World.taken and no World.seen and no World.young
  no World.knows and no World.built and no World.signed and no World.digest
  no World.last and no World.plan and no World.filter and no World.voided
  no World.done and no World.confirms and no World.ripe and no World.gone and no World.using
}

// ---- users ---------------------------------------------------------------------------------------------------------

/** A put, also of a piece that is there or in the trash, makes the piece young. */
pred put[p: Piece] {
  World.on' = World.on + p
  World.trash' = World.trash - p
  World.gone' = World.gone - p
  World.ripe' = World.ripe - p -> Cycle
  World.pending' = World.pending + p
  World.live' = World.live and World.using' = World.using
  World.taken' = World.taken and World.seen' = World.seen
  (p in World.on and Rules.without = PutKeepsAge)
    implies World.young' = World.young
    else World.young' = World.young + World.taken -> p
  sameWorkers and sameSigned and sameBooks
}

pred commit[p: Piece] {
  p in World.pending
  World.live' = World.live + p
  World.pending' = World.pending - p
  World.using' = World.using
  sameDisk and sameFleet
}

/** A writer sees the piece on the disk, and means to commit a row for it without putting it again. */
pred use[p: Piece] {
  Run.wrong = ReusesUnrenewed and p in World.on
  World.using' = World.using + p
  World.live' = World.live and World.pending' = World.pending
  sameDisk and sameFleet
}

pred commitUsed[p: Piece] {
  p in World.using
  World.using' = World.using - p
  World.live' = World.live + p
  World.pending' = World.pending
  sameDisk and sameFleet
}

pred giveUp[p: Piece] {
  p in World.pending
  World.pending' = World.pending - p
  World.live' = World.live and World.using' = World.using
  sameDisk and sameFleet
}

pred release[p: Piece] {
  p in World.live
  World.live' = World.live - p
  World.pending' = World.pending and World.using' = World.using
  sameDisk and sameFleet
}

// ---- managers ------------------------------------------------------------------------------------------------------

/** Any manager, also one that takes over while another still believes to have its cycle. */
pred open_[c: Cycle] {
  c not in World.taken and World.taken in prevs[c]
  World.taken' = World.taken + c
  World.seen' = World.seen + c -> World.live
  World.young' = World.young + c -> (Rules.without = SparesNothing implies none else World.pending)
  // Some of the trash may be a trash age old by now. A writer who saw such a piece before has committed, or never will.
  World.ripe in World.ripe' and World.ripe' - World.ripe in World.trash -> c
  Rules.without = ConfirmsAtOnce or no (World.ripe' - World.ripe).Cycle & World.using
  World.on' = World.on and World.trash' = World.trash and World.gone' = World.gone
  sameRows and sameWorkers and sameSigned and sameBooks
}

/** Gives the node to a worker: an attempt, the first or a later one, in the cycle's one snapshot. */
pred start[w: Worker, s: Session] {
  s.of in World.taken and s not in Worker.(World.knows)
  World.knows' = World.knows + w -> s
  World.built' = World.built
  sameDisk and sameRows and sameSnapshots and sameSigned and sameBooks
}

/** A frame arrives: once, again, late, or never. One of a session that the worker does not know changes nothing. */
pred frame[w: Worker, s: Session, p: Piece] {
  w -> s in World.knows and s not in World.signed
  p in s.of.(World.seen)
  World.built' = World.built + w -> s -> p
  World.knows' = World.knows
  sameDisk and sameRows and sameSnapshots and sameSigned and sameBooks
}

/** Compares what the worker has with what was sent, and signs. It does not matter whether it still has the lease. */
pred sign[w: Worker, s: Session] {
  w -> s in World.knows and s not in World.signed
  w.(World.built)[s] = s.of.(World.seen) or Rules.without = SignsUncompared or s.of = Run.liar
  World.signed' = World.signed + s
  World.digest' = World.digest + s -> w.(World.built)[s]
  sameDisk and sameRows and sameSnapshots and sameWorkers and sameBooks
}

/** A worker dies, or is killed and comes back: it knows nothing. */
pred restartWorker[w: Worker] {
  World.knows' = World.knows - w -> Session
  World.built' = World.built - w -> Session -> Piece
  sameDisk and sameRows and sameSnapshots and sameSigned and sameBooks
}

// ---- the node ------------------------------------------------------------------------------------------------------

/** Takes a signed manifest with the filter that some worker has, or had: deliveries may come late and again. */
pred retain[s: Session, f: set Piece] {
  s in World.signed
  f = s.(World.digest) or Rules.without = DigestIgnored
  no World.last or s.of in nexts[World.last]
  s.of not in World.voided
  World.plan' = s and World.filter' = f and World.last' = s.of and World.voided' = World.voided
  sameDone
  sameDisk and sameRows and sameSnapshots and sameWorkers and sameSigned
}

/** One rename, under the lock in which the age is read again. */
pred trash_[p: Piece] {
  some World.plan and World.plan.of not in World.voided
  p in World.on and p not in World.filter and p not in World.plan.of.(World.young)
  World.on' = World.on - p
  World.trash' = World.trash + p
  World.ripe' = World.ripe - p -> Cycle and World.gone' = World.gone
  sameRows and sameFleet
}

/** The plan was released and carried out: from now on its filter confirms. */
pred finish {
  some World.plan and World.plan.of not in World.voided
  World.done' = World.plan.of and World.confirms' = World.filter
  World.last' = World.last and World.plan' = World.plan and World.filter' = World.filter and World.voided' = World.voided
  sameDisk and sameRows and sameSnapshots and sameWorkers and sameSigned
}

/** Deletes for good: the cycle that was carried out last opened a trash age after the trashing, and misses the piece. */
pred empty_[p: Piece] {
  p in World.trash
  (some World.done and World.done not in World.voided and p -> World.done in World.ripe and p not in World.confirms)
    or Rules.without = EmptiesUnconfirmed
  World.trash' = World.trash - p and World.gone' = World.gone + p
  World.on' = World.on and World.ripe' = World.ripe
  sameRows and sameFleet
}

/** A later snapshot knows a piece in the trash: it is brought back, young. */
pred rescue[p: Piece] {
  p in World.trash and p in Cycle.(World.seen)
  World.on' = World.on + p and World.trash' = World.trash - p
  World.ripe' = World.ripe - p -> Cycle and World.gone' = World.gone
  World.taken' = World.taken and World.seen' = World.seen
  World.young' = World.young + World.taken -> p
  sameRows and sameWorkers and sameSigned and sameBooks
}

/** The node restarts. Its plan and its books are on the disk; a plan that was not yet stored is forgotten. */
pred restartNode {
  World.last' = (Rules.without = BooksLost implies none else World.last)
  World.voided' = (Rules.without = BooksLost implies none else World.voided)
  (World.plan' = World.plan and World.filter' = World.filter) or (no World.plan' and no World.filter')
  sameDone
  sameDisk and sameRows and sameSnapshots and sameWorkers and sameSigned
}

/** An operator undoes a cycle: voids it, then everything in the trash comes back, young. */
pred restore[c: Cycle] {
  c in World.taken
  World.voided' = World.voided + c
  World.last' = World.last and World.plan' = World.plan and World.filter' = World.filter
  sameDone
  World.on' = World.on + World.trash
  no World.trash' and no World.ripe' and World.gone' = World.gone
  World.taken' = World.taken and World.seen' = World.seen
  World.young' = World.young + World.taken -> World.trash
  sameRows and sameWorkers and sameSigned
}

pred stutter { sameDisk and sameRows and sameFleet }

fact behaviour {
  init
  some Run.liar iff Run.wrong = LiesOnce
  always (stutter
    or (some p: Piece | put[p] or commit[p] or giveUp[p] or release[p] or trash_[p])
    or (some p: Piece | use[p] or commitUsed[p] or empty_[p] or rescue[p])
    or finish
    or (some c: Cycle | open_[c] or restore[c])
    or (some w: Worker | restartWorker[w])
    or (some w: Worker, s: Session | start[w, s] or sign[w, s])
    or (some w: Worker, s: Session, p: Piece | frame[w, s, p])
    or (some s: Session | retain[s, s.(World.digest)] or (some w: Worker | retain[s, w.(World.built)[s]]))
    or restartNode)
}

// ---- what must hold ------------------------------------------------------------------------------------------------

/** A live piece is never trashed. */
pred liveStays { always World.live in World.on }

/** Nothing incomplete is ever signed. */
pred completeIsSigned { always all s: World.signed | s.(World.digest) = s.of.(World.seen) }

/** A cycle that was undone trashes nothing more. */
pred voidedIsVoid {
  always all c: World.voided | always (all p: Piece | (trash_[p] and some World.plan) implies World.plan.of != c)
}

pred sound { liveStays and completeIsSigned and voidedIsVoid }

/** A live piece is never deleted for good: it may be in the trash for a while, by somebody's mistake. */
pred liveIsKept { always no World.live & World.gone }

// The model does something: after a worker died, its node was built by another, and garbage went while a live piece stayed.
Sanity: run {
  no Rules.without and no Run.wrong
  some w: Worker, s: Session | eventually (w -> s in World.knows and after restartWorker[w])
  eventually (some World.trash and some World.live)
} for 2 but exactly 2 Session, 12 steps expect 1

// And something is deleted for good.
SanityEmptied: run {
  no Rules.without and no Run.wrong
  eventually some World.gone
} for 1 but 2 Cycle, 2 Session, 14 steps expect 1

Sound: check { (no Rules.without and no Run.wrong) implies sound } for 2 but 3 Session, 11 steps expect 0

// One cycle's filter is a lie, whatever it lacks; or writers use old pieces again without renewing them.
KeptFromLiar: check { (no Rules.without and Run.wrong = LiesOnce) implies liveIsKept }
  for 1 but 2 Cycle, 2 Session, 16 steps expect 0
KeptFromReuse: check { (no Rules.without and Run.wrong = ReusesUnrenewed) implies liveIsKept }
  for 1 but 2 Cycle, 2 Session, 15 steps expect 0

FindsSignsUncompared: check { (Rules.without = SignsUncompared and no Run.wrong) implies liveStays }
  for 2 but 11 steps expect 1
FindsDigestIgnored: check { (Rules.without = DigestIgnored and no Run.wrong) implies liveStays }
  for 2 but 11 steps expect 1
FindsPutKeepsAge: check { (Rules.without = PutKeepsAge and no Run.wrong) implies liveStays }
  for 2 but 11 steps expect 1
FindsSparesNothing: check { (Rules.without = SparesNothing and no Run.wrong) implies liveStays }
  for 2 but 11 steps expect 1
FindsBooksLost: check { (Rules.without = BooksLost and no Run.wrong) implies voidedIsVoid }
  for 2 but 11 steps expect 1
FindsEmptiesUnconfirmed: check { (Rules.without = EmptiesUnconfirmed and Run.wrong = LiesOnce) implies liveIsKept }
  for 1 but 2 Cycle, 2 Session, 12 steps expect 1
FindsConfirmsAtOnce: check { (Rules.without = ConfirmsAtOnce and Run.wrong = ReusesUnrenewed) implies liveIsKept }
  for 1 but 2 Cycle, 2 Session, 15 steps expect 1
