/** The promise's value, or a rejection with the signal's reason as soon as that fires. */
export async function unless_aborted<Value>(
  promise: Promise<Value>,
  signal: AbortSignal | undefined,
  on_abort: () => void = () => {},
): Promise<Value> {
  if (!signal) return promise;
  let abort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => {
      on_abort();
      reject(signal.reason);
    };
  });
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
