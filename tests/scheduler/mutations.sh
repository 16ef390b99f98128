#!/usr/bin/env bash
# Plants faults in the loop and says which tests of the scheduler catch each: the table in `main.rs`.
#
# Run it from anywhere. In a copy of the tree, below `target/`, all faults are written into the code at once, each behind a
# switch, so that one build serves them all; then the tests run once without a fault and once with each. It fails when a
# fault is caught by no property, when it can no longer be planted since the code has changed, or when the copy without a
# fault does not pass. The shipped code knows nothing of it.
#
#   tests/scheduler/mutations.sh              all faults
#   tests/scheduler/mutations.sh any all      those whose names hold one of these words
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
copy=${MUTATIONS_DIR:-$root/target/mutations}
names=()

# Copies the tree, keeping what was built before.
mkdir -p "$copy"
find "$copy" -mindepth 1 -maxdepth 1 ! -name target -exec rm -rf {} +
(cd "$root" && git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$copy" 2>/dev/null)
cat >>"$copy/src/lib.rs" <<'RUST'

/// Whether this fault is planted.
pub(crate) fn planted(name: &str) -> bool {
    static PLANTED: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    PLANTED.get_or_init(|| std::env::var("PLANTED").ok()).as_deref() == Some(name)
}
RUST

# fault NAME FILE FROM TO: replaces a text that stands exactly once. In TO, PLANTED is the switch.
fault() {
    FROM=$3 TO=${4//PLANTED/crate::planted(\"$1\")} FILE=$2 perl -0 -i -pe '
        my $n = () = /\Q$ENV{FROM}\E/g;
        die "the text stands $n times in $ENV{FILE}, not once: $ENV{FROM}\n" unless $n == 1;
        s/\Q$ENV{FROM}\E/$ENV{TO}/;
    ' "$copy/$2" || exit 2
    names+=("$1")
}

fault 'results in the order of completion' src/agent_loop/batch.rs \
    'let (Some(call), Some(place)) = (calls.get(at), results.get_mut(at)) else { continue };' \
    'let free = if PLANTED { results.iter().position(Option::is_none).unwrap_or(at) } else { at };
                    let (Some(call), Some(place)) = (calls.get(at), results.get_mut(free)) else { continue };'

fault 'one-at-a-time drains two' src/run/queue.rs \
    'self.entries.len().min(1),' \
    'self.entries.len().min(if PLANTED { 2 } else { 1 }),'

fault 'all drains one' src/run/queue.rs \
    'QueueMode::All => self.entries.len(),' \
    'QueueMode::All => self.entries.len().min(if PLANTED { 1 } else { usize::MAX }),'

fault 'steering is polled before the batch ends' src/agent_loop/mod.rs \
    'AfterAnswer::RunBatch => spine.run_batch(&answer).await,' \
    'AfterAnswer::RunBatch => {
                    if PLANTED {
                        let early = spine.poll_steering();
                        spine.put_in(early).await;
                    }
                    spine.run_batch(&answer).await
                }'

fault 'any call terminates the run' src/agent_loop/schedule.rs \
    'if calls.all(|terminate| terminate)' \
    'if (if PLANTED { calls.any(|terminate| terminate) } else { calls.all(|terminate| terminate) })'

fault 'calls of a truncated answer are executed' src/agent_loop/schedule.rs \
    '(StopReason::Length, true) => AfterAnswer::RefuseBatch,' \
    '(StopReason::Length, true) if !PLANTED => AfterAnswer::RefuseBatch,'

fault 'an abort loses what was taken from a queue' src/agent_loop/spine.rs \
    'give_back(&*self.config.messages, from_queue);' \
    'if !PLANTED {
                give_back(&*self.config.messages, from_queue);
            }'

fault 'a cancel loses what was taken from a queue' src/agent_loop/driver.rs \
    'give_back(&*self.source, queued);' \
    'if !PLANTED {
            give_back(&*self.source, queued);
        }'

fault 'calls go on before the end of another is told' src/agent_loop/batch.rs \
    'false => self.emit(event).await,' \
    'false if PLANTED => self.note(event),
                        false => self.emit(event).await,'

fault 'an update wakes nobody' src/agent_loop/updates.rs \
    'self.taker.take()' \
    'self.taker.take().filter(|_| !PLANTED)'

fault 'a delivered abort wakes nobody' src/abort.rs \
    'self.0.driving.wake_all();' \
    'if !PLANTED {
                self.0.driving.wake_all();
            }'

fault 'a request is sent after an abort' src/agent_loop/spine.rs \
    'if self.is_aborted() { Err(Box::new(Failure::aborted(ABORTED_ANSWER))) } else { Ok(()) }' \
    'if self.is_aborted() && !PLANTED { Err(Box::new(Failure::aborted(ABORTED_ANSWER))) } else { Ok(()) }'

fault 'the projection is not extended' src/agent_loop/spine.rs \
    '        self.projector.push(&message);' \
    '        if !PLANTED || message.as_tool_result().is_none() {
            self.projector.push(&message);
        }'

fault 'changed tools are not declared' src/agent_loop/spine.rs \
    'let messages = declare(&self.memory.replay, declarations, messages, now);' \
    'let messages = if PLANTED { messages } else { declare(&self.memory.replay, declarations, messages, now) };'

fault 'a cancelled call has no result' src/agent_loop/closing.rs \
    'for result in made_up {' \
    'for result in made_up.into_iter().skip(usize::from(PLANTED)) {'

fault 'an abort waits for every tool' src/agent_loop/call.rs \
    'OnAbort::Drop => unless_aborted(&self.abort, running).await?,' \
    'OnAbort::Drop if PLANTED => running.await,
            OnAbort::Drop => unless_aborted(&self.abort, running).await?,'

fault 'a call that has ended stays in the state' src/state.rs \
    'AgentEvent::ToolExecutionEnd { call, .. } => self.running.remove(call),' \
    'AgentEvent::ToolExecutionEnd { .. } if PLANTED => {}
            AgentEvent::ToolExecutionEnd { call, .. } => self.running.remove(call),'

# What fails in one run of the tests: nothing, if all pass.
failures() {
    find "$copy/tests" -name '*.regressions' -delete
    local log
    log=$(cd "$copy" && PLANTED=$1 RUST_BACKTRACE=0 PROPTEST_MAX_SHRINK_ITERS=0 timeout 300 "$tests" 2>&1)
    if ! grep -q '^test result' <<<"$log"; then
        echo "(did not come to its end)"
        return
    fi
    local failing
    failing=$(sed -n '/^failures:$/,$p' <<<"$log" | grep -E '^    [a-z_:0-9]+$' | sed 's/^ *//; s/.*:://' | sort -u)
    if (($(wc -l <<<"$failing") > 15)); then
        echo 'every property: the checker reads along'
    else
        sed 's/.*/`&`/; s/``//' <<<"$failing" | paste -sd' '
    fi
}

build=$(cd "$copy" && CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$copy/target} cargo test --no-run --test scheduler 2>&1)
tests=$(sed -n 's/.*Executable tests\/scheduler\/main.rs (\(.*\))/\1/p' <<<"$build")
[[ -n $tests ]] || { echo "$build" | tail -40 >&2; exit 2; }
[[ $tests == /* ]] || tests=$copy/$tests

failed=0
without=$(failures '')
[[ -z $without ]] || { echo "without a fault: $without" >&2; exit 2; }
for name in "${names[@]}"; do
    if (($#)); then
        wanted=0
        for word in "$@"; do [[ " $name " == *" $word "* ]] && wanted=1; done
        ((wanted)) || continue
    fi
    caught=$(failures "$name")
    [[ -n $caught ]] || { failed=1; caught='**nothing**'; }
    echo "| $name | $caught |"
done
exit $failed
