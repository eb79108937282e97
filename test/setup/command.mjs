// Runs the main of a program to its end, its answer the exit code; what is mistyped is named in one line.
export async function command(name, main) {
  try {
    process.exit((await main()) ?? 0);
  } catch (error) {
    const isMistyped = String(error?.code).startsWith('ERR_PARSE_ARGS');
    console.error(isMistyped ? `${name}: ${error.message}; --help lists the options.` : error);
    process.exit(isMistyped ? 2 : 1);
  }
}
