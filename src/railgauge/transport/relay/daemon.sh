# Runs the command that an agent was given, as ssh would. Argument: the command.
# Open MPI writes it for the shell of the user: csh if that is the login shell, otherwise sh.
# shellcheck shell=sh

case ${SHELL:-} in
  */csh | */tcsh) exec "$SHELL" -c "$1" ;;
  *) exec sh -c "$1" ;;
esac
