// Runs a program's main function and exits with its result. An invalid option is reported in one line, with exit code
// 2.
export async function command(name, main) {
  try {
    process.exit((await main()) ?? 0);
  } catch (error) {
    const isMistyped = String(error?.code).startsWith('ERR_PARSE_ARGS');
    console.error(isMistyped ? `${name}: ${error.message}; --help lists the options.` : error);
    process.exit(isMistyped ? 2 : 1);
  }
}
