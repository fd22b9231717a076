/* Threads that are kept between uses. */
#ifndef LTH_TEAM_H
#define LTH_TEAM_H

typedef void lth__team_fn(void *user, unsigned member);

/* fn(user, 0) on this thread and fn(user, 1) .. fn(user, members - 1) on others at the same time;
 * returns when all have. When threads cannot be had there are fewer members. Teams inside of a team
 * have, beside the thread that calls, those that have nothing to do in it: `spare` to begin with,
 * then also whoever is done. */
void lth__team_run(unsigned members, unsigned spare, lth__team_fn *fn, void *user);

/* How many forks lie between the process that first ran a team and this one: what refers to threads
 * is void when it has changed. */
unsigned lth__team_generation(void);

#endif
