/* Memory that tiles borrow from one another. A tile needs some megabytes; had each of them new ones
 * from the system, most of its time would go into page faults. */
#ifndef LTH_TREE_ROOM_H
#define LTH_TREE_ROOM_H

#include "base/memory.h"

enum { LTH__TREE_BLOCKS = 34 };

/* Blocks by number, each as large as the largest wish so far. */
typedef struct lth__tree_room {
    void *block[LTH__TREE_BLOCKS];
    size_t bytes[LTH__TREE_BLOCKS];
} lth__tree_room;

/* count * size bytes, with what happens to be in them; NULL = out of memory. */
void *lth__tree_room_get(lth__tree_room *room, size_t number, size_t count, size_t size);
/* The same with zeros in it: who takes it puts the zeros back before the tile is done. */
void *lth__tree_room_zeros(lth__tree_room *room, size_t number, size_t count, size_t size);
/* The same with what it had, and with some room to go on. */
void *lth__tree_room_grow(lth__tree_room *room, size_t number, size_t count, size_t size);

/* Rooms that wait for a tile. */
typedef struct lth__tree_rooms lth__tree_rooms;

lth__tree_rooms *lth__tree_rooms_create(size_t threads); /* NULL = out of memory */
void lth__tree_rooms_free(lth__tree_rooms *rooms);

/* From any thread. NULL = out of memory. */
lth__tree_room *lth__tree_room_enter(lth__tree_rooms *rooms);
void lth__tree_room_leave(lth__tree_rooms *rooms, lth__tree_room *room);

#endif
