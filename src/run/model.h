/* model.h: which kernels a layer, an embedding and a head are; forward beside backward.
 *
 * Phase: steady. (1) Within a tensor-parallel group every rank makes the same calls in the same order, with the same sizes.
 * (2) Residual streams and their gradients are equal on all ranks of a tensor-parallel group, to the bit: each was summed over the group.
 * (3) Gradients of parameters are added to the flat gradient buffer; the loss was divided by the global batch's targets before. */
#ifndef SRC_RUN_MODEL_H
#define SRC_RUN_MODEL_H

#include "run/player.h"

/* Each plays one step of the program; operands as src/tables.h says at the step's kind. */
void model_embed(struct player *player, const struct step *step);
void model_embed_backward(struct player *player, const struct step *step);
void model_layer(struct player *player, const struct step *step);

/* STEP_LAYER_AGAIN, STEP_CORE_AGAIN: what model_layer left for the backward pass, made again by the same operations: the same bits. The first
 * stops where nothing more is kept, before the product of PARAMETER_DOWN. */
void model_layer_again(struct player *player, const struct step *step);
void model_core_again(struct player *player, const struct step *step);
/* STEP_LAYER_BACKWARD, and STEP_LAYER_INPUT where the step keeps what model_layer_weight needs. */
void model_layer_backward(struct player *player, const struct step *step);
/* STEP_LAYER_WEIGHT: adds the gradients of the layer's matrices, the same bits as the whole backward pass. */
void model_layer_weight(struct player *player, const struct step *step);
/* Adds to player->loss and player->hits; with gradients (STEP_HEAD) or without (STEP_HEAD_EVALUATE). */
void model_head(struct player *player, const struct step *step, bool gradients);

#endif
