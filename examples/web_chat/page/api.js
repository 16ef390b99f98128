// The server: requests, and the stream of events.

/** Sends a request; an error has the server's own words, and its status. */
async function request(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw Object.assign(new Error("The server cannot be reached."), { status: 0 });
  }
  const body = await response.json().catch(() => ({}));
  if (!response.ok) {
    const words = body.error ?? `The server answered with status ${response.status}.`;
    throw Object.assign(new Error(words), { status: response.status });
  }
  return body;
}

export const get = (path) => request(path, { cache: "no-store" });

export const post = (path, body = {}) =>
  request(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

export const pathOf = (id) => `/api/conversations/${encodeURIComponent(id)}`;

const RETRY_AFTER = 1500;

/**
 * Listens to a conversation's events until `close` is called.
 *
 * `hear(kind, data)` is told "snapshot" and "step"; `status` is told "connected", "lost" (it is being repaired) or
 * "gone" (the server does not know the conversation). A browser reconnects by itself and says what it saw last, so the
 * server goes on there, or sends a snapshot. Only after an answer that is no stream does it give up: then we try again.
 */
export function listen(id, hear, status) {
  let source = null;
  let timer = null;
  let closed = false;

  const open = () => {
    source = new EventSource(`${pathOf(id)}/events`);
    source.addEventListener("open", () => status("connected"));
    for (const kind of ["snapshot", "step"]) {
      source.addEventListener(kind, (event) => hear(kind, JSON.parse(event.data)));
    }
    // The server could not write a step: what it missed is in the snapshot that a new listener begins with.
    source.addEventListener("unreadable", () => {
      source.close();
      if (!closed) timer = setTimeout(open, RETRY_AFTER);
    });
    source.addEventListener("error", () => {
      if (closed) return;
      status("lost");
      if (source.readyState === EventSource.CLOSED) lookAgain();
    });
  };

  const lookAgain = async () => {
    try {
      await get(`${pathOf(id)}/seen`);
    } catch (error) {
      if (closed) return;
      if (error.status === 404) return status("gone");
    }
    if (!closed) timer = setTimeout(open, RETRY_AFTER);
  };

  open();
  return {
    close() {
      closed = true;
      clearTimeout(timer);
      source.close();
    },
  };
}
