/** True in `npm run check:long`, which runs the cases of a test that CI leaves out, too. */
export const IS_WHOLE = process.env['WHOLE_TESTS'] === '1'
