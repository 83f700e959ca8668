/*
 * How the members of a cluster share an account (src/cluster): lease, fence, stream, command, POST and result, for one actuator.
 * `.ci/model-check` lets Spin visit every state; docs/inside/cluster-model.md says what that proves and what not.
 *
 * Between any two steps a member may stand still for any time: frozen, cut off from NATS, or waiting for a message. So a freeze, a
 * partition, and a message that is late or lost are no steps of their own: the step that would follow is not taken.
 */

#ifndef MEMBERS
#define MEMBERS 3
#endif
#ifndef COMMANDS
#define COMMANDS 2 /* 1 or 2 */
#endif
#ifndef CLAIMS
#define CLAIMS 4 /* so often the account is claimed, at most */
#endif
#ifndef LEASE
#define LEASE 1 /* ticks for which a lease holds */
#endif
#ifndef CONTROL
#define CONTROL 1 /* ticks for which a POST is under way, at most */
#endif
#define DRIFT 1 /* ticks by which the clock of a member comes late, at most, from a confirmation of its lease to the next, and to the end of a POST */
#ifdef MISTAKE_NO_ALLOWANCE
#define ALONE LEASE
#else
#define ALONE (LEASE + DRIFT) /* ticks for which whoever claims waits until it fences */
#endif

/*
 * States without which a proof would be empty. A search with the number of one has to find it:
 * 1 a take-over while a POST is under way
 * 2 a result kept, its acknowledgement lost
 * 3 awake before the first byte, the lease stale
 * 4 claimed anew, and somebody else had written
 * 5 a POST in the last tick of a lease, clock late
 * 6 a result told by the next owner
 * 7 only shown as waiting, ended by the next
 * 8 an idle actuator taken over without a wait
 * 9 read from the socket without the account
 * 10 two commands, two POSTs, two claims
 * 11 handed over with an entry on its way
 */
#ifndef REACH
#define REACH 0
#endif
/* A rule, named as in test/judge. With its number all others are left out. */
#ifndef ONLY
#define ONLY 0
#endif
#define RULE(n, condition) assert(ONLY != 0 && ONLY != n || (condition))
#define REACHED(n, condition) assert(REACH != n || !(condition))

/* Who has the key of the bucket, or the link to the broker: a member, or none of them. */
#define NOBODY MEMBERS
#define MARK (MEMBERS + 1) /* given up in order */
#define GONE (MEMBERS + 2) /* left by who has it no more */

/* Of a member. */
#define STANDBY 0
#define CLAIMED 1 /* it waits until nobody else can act */
#define RUNS 2

/* The command that a member is at. */
#define IDLE 0
#define RECORDS 1 /* `sending` is on its way to the stream */
#define READY 2 /* `sending` is acknowledged */
#define POSTS 3
#define READS_BACK 4 /* what the owner before left open */
#define ENDS 5 /* what happened is known here; the stream does not take it */
#define REPORTS 6 /* the result is on its way to the stream */

/* What a member knows of the end of the stream. */
#define THEIRS 0 /* somebody else has written behind what it knows */
#define OURS 1 /* it has written itself, without an acknowledgement */
#define KNOWN 2

/* What the stream has of a command; also what an entry is that is on its way. */
#define NOTHING 0
#define SENDING 1
#define RESULT 2

/* What happened to a command. */
#define UNSETTLED 0
#define NOT_DONE 1
#define DONE 2

/* Where a command is: in the socket of a member, or here. */
#define UNSENT MEMBERS
#define TAKEN (MEMBERS + 1)
#define LOST (MEMBERS + 2) /* its process was killed before it read it */

typedef Member {
  unsigned phase : 2;
  unsigned age : 3; /* since its lease was confirmed */
  unsigned alone : 3; /* so long until no other one holds a lease */
  unsigned settle : 3; /* so long until no POST of another one is under way */
  unsigned known : 2;
  unsigned lane : 3;
  unsigned at : 1; /* the command in the lane */
  unsigned outcome : 2;
  unsigned entry : 2; /* on its way to the stream */
  unsigned entryOf : 1;
  unsigned entrySays : 2;
  bit isLate; /* its clock has lost what clocks may lose */
  bit isFenced;
  bit isBroken; /* an entry was not acknowledged: it fences before it writes again */
  bit isFencing /* a fence is on its way to behind the newest entry */
}
Member member[MEMBERS];

typedef Command {
  unsigned where : 3;
  unsigned record : 2;
  unsigned result : 2; /* in the stream */
  unsigned told : 2;
  bit isShown; /* retained by the broker as waiting */
  bit isPosted;
  bit isCarriedOut
}
Command command[COMMANDS];

byte key = NOBODY;
byte linked = NOBODY;
byte claims; /* members are alike until their first claim, which they make in their order */
byte firstClaims;

/* The POST under way. */
bit isUnderWay;
byte poster;
byte posted;
byte left;
byte shown = COMMANDS; /* the command whose value the platform shows */

byte owner = NOBODY; /* whose fence came last; for the judge alone */

/*
 * L1 is judged once all trouble is over, which may be at any moment: from then on nothing is lost, nobody stands still, and time
 * passes only where nothing else can happen.
 */
#ifdef CALM
bit isCalm;
byte calmFor;
#define hasEnded(c) (command[c].told != UNSETTLED || command[c].where == UNSENT || command[c].where == LOST)
#define mayClaim (claims < (isCalm -> CLAIMS + 3 : CLAIMS))
#define mayPass ((!isCalm || timeout) && calmFor < CALM)
#else
#define isCalm 0
#define mayClaim (claims < CLAIMS)
#define mayPass 1
#endif
byte i;

#define holdsLease(m) (member[m].age < LEASE)
#define mayPost(m) (member[m].isFenced && holdsLease(m) && member[m].settle == 0)
#define writes(m) (member[m].phase == RUNS && !member[m].isBroken)
#define isAt(m, c) (member[m].lane != IDLE && member[m].at == c)
#define isOnItsWay(m) (member[m].entry != NOTHING && member[m].known == KNOWN)

inline clearLane(m) {
  member[m].lane = IDLE;
  member[m].at = 0;
  member[m].outcome = UNSETTLED
}

inline clearEntry(m) {
  member[m].entry = NOTHING;
  member[m].entryOf = 0;
  member[m].entrySays = UNSETTLED
}

/* An entry that is on its way goes on. */
inline giveUp(m) {
  member[m].phase = STANDBY;
  member[m].age = LEASE;
  member[m].alone = 0;
  member[m].settle = 0;
  member[m].isFenced = 0;
  member[m].isBroken = 0;
  member[m].isFencing = 0;
  clearLane(m);
  if
  :: member[m].entry == NOTHING || member[m].known != KNOWN ->
     clearEntry(m);
     member[m].known = THEIRS
  :: else
  fi;
  if :: key == m -> key = GONE :: else fi;
  if :: linked == m -> linked = NOBODY :: else fi
}

/* Whatever else is on its way has missed its place. */
inline append(m) {
  i = 0;
  do
  :: i < MEMBERS ->
     if
     :: i != m ->
        member[i].known = THEIRS;
        member[i].isFencing = 0;
        if :: member[i].phase == STANDBY -> clearEntry(i) :: else fi
     :: else
     fi;
     i++
  :: else -> break
  od;
  i = 0;
  member[m].isFencing = 0
}

inline tell(c, what) {
  RULE(6, command[c].told == UNSETTLED || command[c].told == what); /* S7 one result */
  RULE(7, command[c].record == RESULT && command[c].result == what || command[c].record == NOTHING && what == NOT_DONE); /* S7 as the stream has it */
  command[c].told = what;
  command[c].isShown = 0
}

inline tellUntold(m, c) {
  REACHED(7, command[c].record == NOTHING);
  REACHED(6, command[c].record == RESULT && command[c].result == DONE);
  if
  :: command[c].record == RESULT -> tell(c, command[c].result)
  :: else -> tell(c, NOT_DONE)
  fi
}

inline keep(m) {
  if
  :: member[m].entry == SENDING ->
     RULE(6, command[member[m].entryOf].told == UNSETTLED); /* S7 one result */
     command[member[m].entryOf].record = SENDING
  :: else ->
     RULE(6, command[member[m].entryOf].record != RESULT); /* S7 one result */
     RULE(8, (member[m].entrySays == DONE) == command[member[m].entryOf].isCarriedOut); /* S7 what happened */
     RULE(8, !(isUnderWay && posted == member[m].entryOf)); /* S7 what happened */
     command[member[m].entryOf].record = RESULT;
     command[member[m].entryOf].result = member[m].entrySays
  fi;
  clearEntry(m);
  append(m)
}

inline acknowledged(m) {
  member[m].known = KNOWN;
  if
  :: member[m].lane == RECORDS -> member[m].lane = READY
  :: member[m].lane == REPORTS ->
     if :: linked == m -> tell(member[m].at, member[m].outcome) :: else fi;
     clearLane(m)
  :: else
  fi
}

inline unacknowledged(m) {
  member[m].isBroken = 1;
  if
  :: member[m].lane == RECORDS ->
     member[m].lane = ENDS;
     member[m].outcome = NOT_DONE
  :: member[m].lane == REPORTS ->
     member[m].lane = ENDS;
#ifdef MISTAKE_LOCAL_COPY
     if :: linked == m -> tell(member[m].at, member[m].outcome) :: else fi;
     clearLane(m)
#endif
  :: else
  fi
}

/* Settled here; the stream decides. */
inline report(m, what) {
  member[m].outcome = what;
  if
  :: member[m].isBroken -> member[m].lane = ENDS
  :: else ->
     member[m].entry = RESULT;
     member[m].entryOf = member[m].at;
     member[m].entrySays = member[m].outcome;
     member[m].lane = REPORTS
  fi
}

inline readBack(m) {
  if
  :: shown == member[m].at -> report(m, DONE)
  :: else -> report(m, NOT_DONE)
  fi
}

/* Nobody else can write any more, and what was written is read. */
inline takeUp(m) {
  member[m].phase = RUNS;
  linked = m;
  i = 0;
  do
  :: i < COMMANDS ->
     if
     :: command[i].record == SENDING ->
        RULE(10, member[m].lane == IDLE); /* S11 one command is open */
        member[m].lane = READS_BACK;
        member[m].at = i
     :: else
     fi;
     i++
  :: else -> break
  od;
  i = 0;
  REACHED(1, isUnderWay && poster != m && member[m].lane == READS_BACK);
  REACHED(8, member[m].settle > 0 && member[m].lane == IDLE);
  /* Where the stream says that no POST may be under way there is nothing to be waited for. */
#ifdef MISTAKE_NO_WAIT
  member[m].settle = 0
#else
  if :: member[m].lane == IDLE -> member[m].settle = 0 :: else fi
#endif
}

inline fence(m) {
  /* An entry that nobody waits for has missed its place; another one waits for its turn. */
  if :: writes(m) -> skip :: else -> clearEntry(m) fi;
  member[m].known = KNOWN;
  member[m].isBroken = 0;
  if :: member[m].phase == CLAIMED -> takeUp(m) :: else fi;
  if
  :: member[m].alone == 0 ->
     member[m].isFenced = 1;
     owner = m
  :: else
  fi;
  if
  :: member[m].lane == ENDS && command[member[m].at].record == RESULT ->
     /* An entry without an acknowledgement was kept. */
     REACHED(2, command[member[m].at].result == DONE);
     if :: linked == m -> tell(member[m].at, command[member[m].at].result) :: else fi;
     clearLane(m)
  :: member[m].lane == ENDS && command[member[m].at].record != RESULT -> report(m, member[m].outcome)
  :: else
  fi
}

inline take(m, c) {
  command[c].where = TAKEN;
  if
  :: writes(m) && mayPost(m) ->
     RULE(2, linked == m); /* OWNER takes commands */
     command[c].isShown = 1;
     member[m].at = c;
     member[m].lane = RECORDS;
     member[m].entry = SENDING;
     member[m].entryOf = c
  :: else ->
     REACHED(9, member[m].phase == STANDBY);
     tell(c, NOT_DONE)
  fi
}

inline post(m) {
  REACHED(5, member[m].age + member[m].isLate == LEASE + DRIFT - 1);
#if COMMANDS > 1
  REACHED(10, command[1 - member[m].at].told == DONE && claims > 1);
#endif
  RULE(1, holdsLease(m)); /* LEASE within its time */
  RULE(3, owner == m); /* OWNER sends */
  RULE(9, !isUnderWay); /* S11 one POST at a time */
  RULE(4, !command[member[m].at].isPosted); /* S1 one POST of a command */
  RULE(5, command[member[m].at].record == SENDING); /* S5 only once it is in the stream */
  command[member[m].at].isPosted = 1;
  isUnderWay = 1;
  poster = m;
  posted = member[m].at;
  left = CONTROL;
  member[m].lane = POSTS
}

inline over() {
  isUnderWay = 0;
  poster = 0;
  posted = 0;
  left = 0
}

#define less(time) time = (time > 0 -> time - 1 : 0)

/* By the clock of `late` no time passes. Whoever sent a POST ends it, by its own clock. */
inline tick(late) {
  i = 0;
  do
  :: i < MEMBERS ->
     if
     :: i == late -> member[i].isLate = 1
     :: else ->
        if :: isUnderWay && poster == i -> left-- :: else fi;
        if
        :: member[i].phase != STANDBY ->
           if :: member[i].age < LEASE -> member[i].age++ :: else fi;
           less(member[i].alone);
           less(member[i].settle)
        :: else
        fi
     fi;
     i++
  :: else -> break
  od;
  i = 0
}
#define mayBeLate(m) (!member[m].isLate && (member[m].phase == RUNS && holdsLease(m) || isUnderWay && poster == m))

inline confirm(m) {
  key = m;
  member[m].age = 0;
  if :: isUnderWay && poster == m -> skip :: else -> member[m].isLate = 0 fi
}

#ifdef MISTAKE_NO_WORD
#define isWithoutWord(c) false
#else
#define isWithoutWord(c) (command[c].record == NOTHING && command[c].isShown)
#endif
#define isUntold(m, c) (linked == m && writes(m) && member[m].isFenced && member[m].known == KNOWN && command[c].told == UNSETTLED && !isAt(m, c) && (command[c].record == RESULT || isWithoutWord(c)))

proctype Run(byte m) {
end:
  do
  /* The lease. A renewal of which the answer is lost changes nothing that counts. */
  :: d_step { member[m].phase == STANDBY && (key == NOBODY || key == MARK) && firstClaims >= m && mayClaim ->
       claims++;
       if :: firstClaims == m -> firstClaims++ :: else fi;
       if
       :: key == MARK -> REACHED(11, isOnItsWay(0) || isOnItsWay(1) || isOnItsWay(MEMBERS - 1))
       :: else ->
          member[m].alone = ALONE;
          member[m].settle = ALONE + CONTROL
       fi;
       confirm(m);
       member[m].phase = CLAIMED
     }
  :: d_step { member[m].phase != STANDBY && key == m && (member[m].age > 0 || member[m].isLate) -> confirm(m) }
  :: d_step { member[m].phase != STANDBY && key == NOBODY && mayClaim -> /* claimed anew */
       claims++;
       confirm(m);
       member[m].isFenced = 0;
       member[m].alone = ALONE;
       if
       :: member[m].phase == CLAIMED -> member[m].settle = ALONE + CONTROL
       :: member[m].phase == RUNS && member[m].settle < ALONE -> member[m].settle = ALONE
       :: else
       fi
     }
  :: d_step { member[m].phase != STANDBY && key != m && key != NOBODY -> giveUp(m) }

  /* The fence. */
  :: d_step { !member[m].isFencing && holdsLease(m) && (member[m].phase != STANDBY && member[m].alone == 0 && !member[m].isFenced || member[m].phase == RUNS && member[m].isBroken) ->
       if
#ifdef MISTAKE_NO_FENCE
       :: !member[m].isBroken -> fence(m)
#else
       :: member[m].phase == RUNS && member[m].known == THEIRS ->
          REACHED(4, key == m && !member[m].isBroken);
          giveUp(m)
#endif
       :: else -> member[m].isFencing = 1
       fi
     }
  :: d_step { member[m].isFencing ->
       append(m);
       fence(m)
     }
  :: d_step { !isCalm && member[m].isFencing -> /* its acknowledgement is lost */
       append(m);
       clearEntry(m);
       if :: member[m].phase == RUNS -> member[m].known = OURS :: else member[m].known = THEIRS fi;
       if :: member[m].phase == RUNS && !member[m].isBroken -> unacknowledged(m) :: else fi
     }

  /* An entry of the journal. */
  :: d_step { isOnItsWay(m) && writes(m) ->
       keep(m);
       acknowledged(m)
     }
  :: d_step { isOnItsWay(m) && !(isCalm && writes(m)) -> /* its acknowledgement is lost, or nobody waits for it */
       keep(m);
       member[m].known = OURS;
       if :: writes(m) -> unacknowledged(m) :: else fi;
       if :: member[m].phase == STANDBY -> member[m].known = THEIRS :: else fi
     }
  :: d_step { member[m].entry != NOTHING && writes(m) && !(isCalm && member[m].known == KNOWN) -> unacknowledged(m) }

  /* A command. */
  :: d_step { member[m].lane == IDLE && command[0].where == m -> take(m, 0) }
#if COMMANDS > 1
  :: d_step { member[m].lane == IDLE && command[1].where == m -> take(m, 1) }
#endif
#ifdef MISTAKE_EARLY_LEASE
  :: d_step { member[m].lane == READY -> post(m) }
#else
  :: d_step { member[m].lane == READY && mayPost(m) -> post(m) }
  :: d_step { member[m].lane == READY && !mayPost(m) ->
       REACHED(3, owner != m && owner != NOBODY);
       report(m, NOT_DONE)
     }
#endif
  :: d_step { member[m].lane == POSTS && !(isUnderWay && posted == member[m].at) -> readBack(m) }
#ifdef MISTAKE_AGAIN
  :: d_step { member[m].lane == READS_BACK && mayPost(m) -> post(m) }
#else
  :: d_step { member[m].lane == READS_BACK && member[m].settle == 0 -> readBack(m) }
#endif
#ifdef MISTAKE_UNRECORDED
  :: d_step { member[m].lane == RECORDS && mayPost(m) -> post(m) }
#endif

  /* What the owner before did not tell, or showed as waiting and did not bring into the stream. */
  :: d_step { isUntold(m, 0) -> tellUntold(m, 0) }
#if COMMANDS > 1
  :: d_step { isUntold(m, 1) -> tellUntold(m, 1) }
#endif

  /* The end: in order with a mark, without one, or killed with what is in its socket. */
  :: d_step { !isCalm && member[m].isFenced && member[m].settle == 0 && key == m && !(isUnderWay && poster == m) ->
       key = MARK;
       giveUp(m)
     }
  :: d_step { !isCalm && member[m].phase != STANDBY -> giveUp(m) }
  :: d_step { !isCalm && (command[0].where == m || command[COMMANDS - 1].where == m) ->
       if :: command[0].where == m -> command[0].where = LOST :: else fi;
       if :: command[COMMANDS - 1].where == m -> command[COMMANDS - 1].where = LOST :: else fi;
       giveUp(m)
     }
  od
}

/* What happens around the members. */
proctype World() {
end:
  do
  /* The servers let a lease go whenever they like. */
  :: d_step { key != NOBODY && (!isCalm || key == GONE) -> key = NOBODY }
  :: d_step { !isCalm && linked != NOBODY && command[0].where == UNSENT -> command[0].where = linked }
#if COMMANDS > 1
  :: d_step { !isCalm && linked != NOBODY && command[0].where != UNSENT && command[1].where == UNSENT -> command[1].where = linked }
#endif
  :: d_step { isUnderWay ->
       command[posted].isCarriedOut = 1;
       shown = posted;
       over()
     }
  :: d_step { isUnderWay -> over() }
  #ifdef CALM
  :: d_step { !isCalm -> isCalm = 1 }
  :: d_step { mayPass && !(isUnderWay && left == 0) ->
       tick(NOBODY);
       calmFor = calmFor + isCalm;
       RULE(11, calmFor < CALM || hasEnded(0) && hasEnded(COMMANDS - 1)) /* L1 it ends and its result is told */
     }
#else
  :: d_step { !(isUnderWay && left == 0) -> tick(NOBODY) }
#endif
  :: d_step { !isCalm && mayBeLate(0) && !(isUnderWay && poster != 0 && left == 0) -> tick(0) }
  :: d_step { !isCalm && mayBeLate(1) && !(isUnderWay && poster != 1 && left == 0) -> tick(1) }
#if MEMBERS > 2
  :: d_step { !isCalm && mayBeLate(2) && !(isUnderWay && poster != 2 && left == 0) -> tick(2) }
#endif
  od
}

init {
  d_step {
    i = 0;
    do
    :: i < COMMANDS -> command[i].where = UNSENT; i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < MEMBERS -> member[i].age = LEASE; i++
    :: else -> break
    od;
    i = 0
  }
  atomic {
    run Run(0);
    run Run(1);
#if MEMBERS > 2
    run Run(2);
#endif
    run World()
  }
}
